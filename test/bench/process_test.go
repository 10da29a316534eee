// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
)

func TestCPUTime(t *testing.T) {
	tests := map[string]struct {
		stat string
		want float64
		fail bool
		// further is how many fields are passed over.
		further int
	}{
		"user and system time add up": {
			stat: "4711 (slipway-manager) S 1 4711 4711 0 -1 4194560 20834 0 3 0 1234 66 7 8 20 0 9 0 99887 1300000 9000",
			want: 13,
		},
		"a name may hold spaces, brackets and numbers": {
			stat: "4711 (a) R 1 (2 3) S 1 4711 4711 0 -1 4194560 20834 0 3 0 50 25 7 8 20 0 9 0 99887 1300000 9000",
			want: 0.75,
		},
		"time of children does not count": {
			stat: "1 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 9999 9999 20 0 9 0 1 1 1",
			want: 0,
		},
		"time of children that have ended stands behind its own": {
			stat: "1 (x) S 1 1 1 0 -1 0 0 0 0 0 9999 9999 100 50 20 0 9 0 1 1 1",
			want: 1.5, further: 2,
		},
		"a line without a name is an error":    {stat: "4711 S 1 4711", fail: true},
		"a line that is cut off is an error":   {stat: "4711 (x) S 1 4711 4711 0 -1 0 0 0 0 0 12", fail: true},
		"a time that is no number is an error": {stat: "1 (x) S 1 1 1 0 -1 0 0 0 0 0 1 y 0 0 20", fail: true},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			got, err := parseCPU(test.stat, test.further)
			if (err != nil) != test.fail || got != test.want {
				t.Errorf("got %v, error %v; want %v, an error: %t", got, err, test.want, test.fail)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	const status = "Name:\tslipway-manager\nVmPeak:\t 1300000 kB\nVmHWM:\t   91204 kB\nVmRSS:\t   80000 kB\nThreads:\t9\n"
	tests := map[string]struct {
		field string
		want  int64
		fail  bool
	}{
		"the high-water mark is in bytes":               {field: "VmHWM", want: 91204 * 1024},
		"a field is not mixed up with another":          {field: "VmRSS", want: 80000 * 1024},
		"a field that is not there is an error":         {field: "VmSwap", fail: true},
		"a field that is no amount of kB is an error":   {field: "Threads", fail: true},
		"the beginning of a field's name is not enough": {field: "Vm", fail: true},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			got, err := parseMemory(status, test.field)
			if (err != nil) != test.fail || got != test.want {
				t.Errorf("got %d, error %v; want %d, an error: %t", got, err, test.want, test.fail)
			}
		})
	}
}

// The figures of a living process show that the parsers fit what the system really writes.
func TestThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	me := os.Getpid()
	if _, err := cpuSeconds(me); err != nil {
		t.Error(err)
	}
	rss, err := memory(me, "VmRSS")
	if err != nil || rss < 1<<20 {
		t.Errorf("this process holds %d bytes, error %v; want more than a megabyte", rss, err)
	}
	for sentence, watched := range map[string]*peak{"by the system": watchPeak(me), "by sampling": sampling(me)} {
		ballast := make([]byte, 64<<20)
		for i := 0; i < len(ballast); i += 4096 {
			ballast[i] = 1
		}
		if _, err = memory(me, "VmRSS"); err != nil {
			t.Fatal(err)
		}
		if !watched.sampled { // a sample may come too early to see the ballast
			if most, err := watched.end(); err != nil || most < int64(len(ballast)) {
				t.Errorf("%s: the peak is %d bytes, error %v; want at least the ballast's %d", sentence, most, err, len(ballast))
			}
		} else if most, err := watched.end(); err != nil || most < 1<<20 {
			t.Errorf("%s: the peak is %d bytes, error %v; want more than a megabyte", sentence, most, err)
		}
		runtime.KeepAlive(ballast)
	}
}

func TestChildrenOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	me, child := os.Getpid(), exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if got := children(me); !slices.Contains(got, child.Process.Pid) {
		t.Errorf("got %v, which has no %d", got, child.Process.Pid)
	}
	if _, err := childCPU(me); err != nil {
		t.Error(err)
	}
	if bytes := childMemory(me); bytes == 0 {
		t.Error("its child holds no memory")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if got := children(me); slices.Contains(got, child.Process.Pid) {
		t.Errorf("got %v, which has %d, and that has ended", got, child.Process.Pid)
	}
}

func sampling(pid int) *peak {
	p := &peak{pid: pid, sampled: true, stop: make(chan struct{})}
	p.done.Go(p.sample)
	return p
}

func TestGoneProcess(t *testing.T) {
	const gone = 1 << 30 // above the highest pid that Linux gives
	if _, err := cpuSeconds(gone); err == nil {
		t.Error("a process that does not exist has a CPU time")
	}
	if bytes, err := watchPeak(gone).end(); err == nil {
		t.Errorf("a process that does not exist has a peak of %d bytes", bytes)
	}
	if all := usage(map[string]int{"gone": gone}); len(all) != 0 {
		t.Errorf("a process that does not exist has used %v", all)
	}
}
