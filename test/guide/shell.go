// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Shell ends with the first command that fails.
type Shell struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	read    *os.File
}

// Start starts a shell in a folder, with more variables of the environment than this process has, such as "HOME=/tmp/a". The
// caller closes it.
func Start(ctx context.Context, dir string, environment ...string) (*Shell, error) {
	command := exec.CommandContext(ctx, "sh", "-eu")
	command.Dir, command.Env = dir, append(os.Environ(), environment...)
	in, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("preparing a shell: %w", err)
	}
	out, all, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("preparing a shell: %w", err)
	}
	command.Stdout, command.Stderr = all, all
	err = command.Start()
	_ = all.Close() // the shell has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting a shell: %w", err), out.Close())
	}
	return &Shell{command: command, in: in, out: bufio.NewReader(out), read: out}, nil
}

// Close ends the shell. What a command has failed with was told by Run already.
func (s *Shell) Close() {
	_ = s.in.Close()
	_ = s.command.Wait()
	_ = s.read.Close()
}

const ended = "the commands have ended"

// Run runs commands and returns what they print. It fails when one of them does, and the shell has ended then.
func (s *Shell) Run(commands string) (string, error) {
	if _, err := fmt.Fprintf(s.in, "%s\necho '%s'\n", commands, ended); err != nil {
		return "", fmt.Errorf("the shell has ended: %w", err)
	}
	var printed strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if line == ended+"\n" {
			return printed.String(), nil
		}
		printed.WriteString(line)
		if err != nil {
			return printed.String(), fmt.Errorf("a command failed: %w\n%s\nprinted:\n%s", err, commands, printed.String())
		}
	}
}
