// SPDX-License-Identifier: Apache-2.0

package whoami

import "time"

// Answer is what the server tells of itself.
type Answer struct {
	// Version and Image are the tag and the name that the running process was packed with: no label or status, but proof.
	Version string `json:"version"`
	Image   string `json:"image"`
	// PID is the process in its container's namespace.
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	Hostname string    `json:"hostname"`
	// Requests counts the answers of this kind that this process has given.
	Requests    int64             `json:"requests"`
	Environment map[string]string `json:"environment"`
	Limits      Limits            `json:"limits"`
}

// Limits are what the container's cgroup enforces now, in the kernel's words: bytes, and microseconds of CPU time per
// period; a quota of "-1" or "max" is none. Empty where it could not be read.
type Limits struct {
	Memory    string `json:"memory"`
	CPUQuota  string `json:"cpuQuota"`
	CPUPeriod string `json:"cpuPeriod"`
}
