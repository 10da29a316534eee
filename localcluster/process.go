// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a process may take to end before it is killed. kube-apiserver drains for a while.
	stopGrace = 30 * time.Second
	// lookEvery is the time between two looks at something that tells nobody when it changes.
	lookEvery = 50 * time.Millisecond
)

// process is one started component, as its file in .local/run remembers it.
type process struct {
	PID int `json:"pid"`
	// Started is the system's mark of the start. It tells the process from another that got its pid later.
	Started string `json:"started"`
}

// start runs a program as startWith does, as an ordinary process.
func start(files layout, name, program string, args []string) (<-chan struct{}, error) {
	return startWith(files, name, program, args, &syscall.SysProcAttr{Setsid: true})
}

// startWith runs a program in a session of its own, so that it outlives the terminal, and notes its pid.
// What it says is appended to its log. The channel is closed when it ends, if this program still runs then.
func startWith(files layout, name, program string, args []string, how *syscall.SysProcAttr) (<-chan struct{}, error) {
	for _, dir := range []string{files.in("logs"), files.in("run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making %s: %w", dir, err)
		}
	}
	log, err := os.OpenFile(files.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer log.Close() // the process has its own copy
	cmd := exec.Command(program, args...)
	cmd.Dir = files.root
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = how
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended stands in its log; here it only must not stay a zombie
	}()
	p := process{PID: cmd.Process.Pid, Started: startMark(cmd.Process.Pid)}
	content, err := json.Marshal(p)
	if err == nil {
		err = writeSecret(files.pidFile(name), content)
	}
	if err != nil {
		// Without its pid on file nobody would ever stop it.
		return nil, errors.Join(fmt.Errorf("noting the pid of %s: %w", name, err), p.signal(syscall.SIGKILL))
	}
	return ended, nil
}

// find returns the running process of a component, or nil.
func findProcess(files layout, name string) (*process, error) {
	content, err := os.ReadFile(files.pidFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the pid of %s: %w", name, err)
	}
	var p process
	if err := json.Unmarshal(content, &p); err != nil || p.PID <= 1 {
		return nil, fmt.Errorf("the pid file %s is damaged: look for %s yourself, stop it, and remove the file", files.pidFile(name), name)
	}
	if !p.alive() {
		return nil, nil
	}
	return &p, nil
}

// stop ends a component and returns when it is really gone: its ports are free then.
func stop(files layout, name string) error {
	p, err := findProcess(files, name)
	if err != nil {
		return err
	}
	if p != nil {
		if err := p.end(); err != nil {
			return fmt.Errorf("stopping %s (pid %d): %w", name, p.PID, err)
		}
	}
	if err := os.Remove(files.pidFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the pid of %s: %w", name, err)
	}
	return nil
}

func (p *process) end() error {
	for _, try := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, stopGrace}, {syscall.SIGKILL, stopGrace}} {
		if err := p.signal(try.signal); err != nil {
			return err
		}
		for waited := time.Duration(0); waited < try.wait; waited += lookEvery {
			if !p.alive() {
				return nil
			}
			time.Sleep(lookEvery)
		}
	}
	return errors.New("it is still there after SIGKILL")
}

func (p *process) signal(signal syscall.Signal) error {
	if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s: %w", signal, err)
	}
	return nil
}

// alive is false for a zombie: it holds no port and no file, and where nobody collects it, it stays for ever.
func (p *process) alive() bool {
	if err := syscall.Kill(p.PID, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	state, mark, known := procStat(p.PID)
	if !known {
		return p.Started == "" // no /proc on this system, or the process ended just now
	}
	return state != "Z" && state != "X" && mark == p.Started
}

func startMark(pid int) string {
	_, mark, _ := procStat(pid)
	return mark
}

// procStat reads a process's state and the time of its start, in the kernel's ticks, where the system has /proc.
func procStat(pid int) (state, started string, known bool) {
	content, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return "", "", false
	}
	// The second field is the program's name in brackets and may hold anything.
	text := string(content)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	if len(fields) < 20 {
		return "", "", false
	}
	return fields[0], fields[19], true
}

// tail returns the last lines of a component's log, for an error message.
func tail(files layout, name string) string {
	const most = 2000
	file, err := os.Open(files.log(name))
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		if _, err := file.Seek(-most, io.SeekEnd); err != nil {
			return ""
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}
