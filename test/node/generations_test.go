// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestANodeThatReportsNoGenerationsActsOnChanges(t *testing.T) {
	for name, delay := range map[string]time.Duration{"at once": 0, "after a while": time.Second} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Model{NoGenerations: true, RestartDelay: delay}, "a:v1")
			w.pod.Status.Conditions = nil // its server keeps none that counts generations
			w.after(time.Minute)
			first := w.container("a")
			w.edit(func(spec *corev1.PodSpec) { spec.Containers[0].Image = "a:v2" })
			w.after(time.Minute)
			second := w.container("a")
			if second.Image != "a:v2" || second.ContainerID == first.ContainerID || !w.ready() {
				t.Errorf("after the change the container is %+v", second)
			}
			for _, status := range w.seen {
				if status.ObservedGeneration != 0 {
					t.Errorf("it has reported generation %d", status.ObservedGeneration)
				}
				for _, c := range status.Conditions {
					if c.ObservedGeneration != 0 {
						t.Errorf("it has reported generation %d with condition %s", c.ObservedGeneration, c.Type)
					}
				}
			}
			if wrote, wait := w.step(); wrote || wait != 0 {
				t.Errorf("it does not come to rest: wrote is %t, and it looks again in %s", wrote, wait)
			}
		})
	}
}
