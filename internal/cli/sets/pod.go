// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/pod"
)

// Pod is one row.
type Pod struct {
	Name  string
	UID   types.UID
	State pod.State
	// Why it is not available, empty when it is.
	Why string
	// Images are those that the spec asks for.
	Images          []string
	ReadyContainers int
	Containers      int
	Restarts        int32
	IP, Node        string
	Age             time.Duration
	Created         time.Time
	// Note says what is special about it although it may be available.
	Note string
	// Lines are what belongs to it, like its claims.
	Lines []Line

	available, active bool
	// stuck: it fails, or it runs for longer than patience and is not ready.
	stuck bool
}

// patience is how long the containers of a pod may run without being ready before the view speaks of a failure.
const patience = 5 * time.Second

// ByAge sorts pods by the time of their creation, then by name.
func ByAge(a, b Pod) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// IsActive says that the pod is neither finished nor being deleted.
func (p Pod) IsActive() bool { return p.active }

// IsAvailable says that it is available.
func (p Pod) IsAvailable() bool { return p.available }

// NewPod looks at a pod.
func NewPod(p *corev1.Pod, minReadySeconds int32, now time.Time) Pod {
	row := Pod{
		Name: p.Name, UID: p.UID, State: pod.StateOf(p, minReadySeconds, now), Why: pod.WaitingFor(p), Images: ImagesOf(p.Spec.Containers),
		Containers: len(p.Spec.Containers), IP: p.Status.PodIP, Node: p.Spec.NodeName,
		Age: now.Sub(p.CreationTimestamp.Time), Created: p.CreationTimestamp.Time,
	}
	row.active = pod.IsActive(p)
	row.available = row.active && row.State == pod.Available
	if row.available {
		row.Why = ""
	}
	if row.State == pod.Ready && row.Why == "" {
		if wait, ok := pod.AvailableIn(p, minReadySeconds, now); ok && wait > 0 {
			row.Why = "available in " + Seconds(wait)
		}
	}
	row.stuck = row.State == pod.Failing
	for _, c := range p.Status.ContainerStatuses {
		if row.State == pod.NotReady && !c.Ready && c.State.Running != nil && now.Sub(c.State.Running.StartedAt.Time) > patience {
			row.stuck = true
		}
		row.Restarts += c.RestartCount
		if c.Ready {
			row.ReadyContainers++
		}
	}
	return row
}
