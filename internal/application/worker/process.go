// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"slipway.dev/slipway/internal/application/render"
)

// process is one worker.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  *firstBytes
	asked   int
	idle    time.Time
}

// start starts a worker. It outlives the request that it is started for.
func start(program string) (*process, error) {
	command := exec.Command(program, Argument)
	// Nothing of the environment: no names of hosts, no credentials. Two threads: one evaluates, one watches.
	command.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	command.Dir = "/"
	stderr := &firstBytes{}
	command.Stderr = stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	return &process{command: command, in: in, out: bufio.NewReader(out), stderr: stderr}, nil
}

// ask sends a question and waits for the last answer to it, at most until the context ends. Reached is the last template that the
// worker has told of. After an error, and after an answer that a limit was exceeded, the worker is gone.
func (p *process) ask(ctx context.Context, raw []byte) (last answer, reached render.Reached, err error) {
	defer func() {
		if err != nil || last.Exceeded != "" {
			p.end()
		}
	}()
	unblock := context.AfterFunc(ctx, func() { _ = p.command.Process.Kill() })
	defer unblock()
	p.asked++
	if err := writeRaw(p.in, raw); err != nil {
		return answer{}, reached, fmt.Errorf("asking a worker: %w", err)
	}
	for {
		var a answer
		if err := readFrame(p.out, &a); err != nil {
			return answer{}, reached, fmt.Errorf("a worker did not answer: %w", err)
		}
		if a.isLast() {
			return a, reached, nil
		}
		if a.Reached != nil {
			reached = *a.Reached
		}
	}
}

// end ends the process, whatever it does, and waits until it is gone.
func (p *process) end() {
	_ = p.in.Close()
	_ = p.command.Process.Kill()
	_ = p.command.Wait() // how it ended was decided here, or stands in what it wrote
}

// death is the limit that a worker has died of, by its last words; empty when they do not say.
func (p *process) death() limit {
	words := p.stderr.String()
	switch {
	case strings.Contains(words, "stack exceeds"), strings.Contains(words, "stack overflow"):
		return limitRecursion
	case strings.Contains(words, "out of memory"), strings.Contains(words, "cannot allocate"), strings.Contains(words, "failed to create new OS thread"):
		return limitMemory
	}
	return ""
}

// words are the first line that a worker left behind.
func (p *process) words() error {
	line, _, _ := strings.Cut(strings.TrimSpace(p.stderr.String()), "\n")
	if line == "" {
		line = p.command.ProcessState.String()
	}
	return errors.New(line)
}

// firstBytes keeps the beginning of what is written to it. It is read only after its writer is gone.
type firstBytes struct{ bytes.Buffer }

const maxWords = 4 << 10

func (f *firstBytes) Write(b []byte) (int, error) {
	if room := maxWords - f.Len(); room > 0 {
		f.Buffer.Write(b[:min(len(b), room)])
	}
	return len(b), nil
}
