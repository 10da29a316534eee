// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ticksPerSecond is the unit of CPU time in /proc, which Linux keeps at 100 on every machine.
const ticksPerSecond = 100

// sampleEvery is the time between two looks at a process's memory, where its high-water mark cannot be reset.
const sampleEvery = 200 * time.Millisecond

// cpuSeconds is the CPU time that a process has used since its start, of all its threads.
func cpuSeconds(pid int) (float64, error) {
	content, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of process %d: %w", pid, err)
	}
	return parseCPU(string(content), 0)
}

// childCPU is the CPU time that the children of a process have used since its start: of those that live, and of those that it
// has seen end.
func childCPU(pid int) (float64, error) {
	content, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of the children of process %d: %w", pid, err)
	}
	sum, err := parseCPU(string(content), 2) // the fields behind its own
	if err != nil {
		return 0, err
	}
	for _, child := range children(pid) {
		if seconds, err := cpuSeconds(child); err == nil { // it may end meanwhile
			sum += seconds
		}
	}
	return sum, nil
}

// childMemory is the most memory that each living child of a process has held, in bytes, added up.
func childMemory(pid int) int64 {
	sum := int64(0)
	for _, child := range children(pid) {
		if bytes, err := memory(child, "VmHWM"); err == nil {
			sum += bytes
		}
	}
	return sum
}

// children are the processes that a process has started, and that live; none where the system does not tell.
func children(pid int) []int {
	lists, err := filepath.Glob(filepath.Join(procFile(pid, "task"), "*", "children"))
	if err != nil {
		return nil
	}
	var all []int
	for _, list := range lists {
		content, err := os.ReadFile(list)
		if err != nil {
			continue // a thread has ended, and its children went over to another one
		}
		for _, field := range strings.Fields(string(content)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// parseCPU reads user and system time from the text of /proc/PID/stat, in seconds; so many fields further on than its own.
func parseCPU(stat string, further int) (float64, error) {
	// The second field is the program's name in brackets and may hold anything, also brackets.
	end := strings.LastIndex(stat, ")")
	if end < 0 {
		return 0, errors.New("/proc/PID/stat: no program's name in it")
	}
	fields := strings.Fields(stat[end+1:])
	user, system := 11+further, 12+further // fields 14 and 15 of the line are its own
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/PID/stat: %d fields behind the name, want more than %d", len(fields), system)
	}
	var ticks uint64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/PID/stat: CPU time: %w", err)
		}
		ticks += n
	}
	return float64(ticks) / ticksPerSecond, nil
}

// memory reads a field of /proc/PID/status, such as VmRSS, in bytes.
func memory(pid int, field string) (int64, error) {
	content, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	return parseMemory(string(content), field)
}

func parseMemory(status, field string) (int64, error) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != field {
			continue
		}
		number, isKB := strings.CutSuffix(strings.TrimSpace(value), " kB")
		if !isKB {
			return 0, fmt.Errorf("/proc/PID/status: %s is %q, want a number of kB", field, strings.TrimSpace(value))
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/PID/status: %s: %w", field, err)
		}
		return n * 1024, nil
	}
	return 0, fmt.Errorf("/proc/PID/status has no %s", field)
}

// peak finds the most memory that a process holds from the call on.
type peak struct {
	pid int
	// sampled says that the system's own mark could not be used.
	sampled bool
	stop    chan struct{}
	done    sync.WaitGroup
	most    int64
}

// watchPeak resets the system's high-water mark of a process. Where that is not allowed, it samples, and may miss a
// short peak.
func watchPeak(pid int) *peak {
	p := &peak{pid: pid, stop: make(chan struct{})}
	if err := os.WriteFile(procFile(pid, "clear_refs"), []byte("5"), 0); err == nil {
		return p
	}
	p.sampled = true
	p.done.Go(p.sample)
	return p
}

func (p *peak) sample() {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		if rss, err := memory(p.pid, "VmRSS"); err == nil {
			p.most = max(p.most, rss)
		}
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
	}
}

// end returns the peak in bytes. It must be called once.
func (p *peak) end() (int64, error) {
	close(p.stop)
	p.done.Wait()
	if p.sampled {
		if p.most == 0 {
			return 0, fmt.Errorf("process %d shows no memory", p.pid)
		}
		return p.most, nil
	}
	return memory(p.pid, "VmHWM")
}

// load is the machine's load average of the last minute; false where the system does not tell.
func load() (float64, bool) {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(content), " ")
	n, err := strconv.ParseFloat(first, 64)
	return n, err == nil
}
