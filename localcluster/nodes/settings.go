// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/node"
)

const (
	// LabelSimulated marks the Node objects that belong to this process.
	LabelSimulated = "slipway.dev/simulated"
	// LabelCell says which cell, a part of the fleet that is released apart from others, a node is in.
	LabelCell = cafev1alpha1.LabelCell
	// AnnotationFull makes a node report no room for further pods.
	AnnotationFull = "slipway.dev/full"
	// AnnotationCut makes a node fall silent.
	AnnotationCut = "slipway.dev/cut"
	// StorageClass is the default class, whose claims are bound to made-up volumes.
	StorageClass = "standard"

	provisioner = "slipway.dev/simulated"
	userAgent   = "slipway-node"
)

// Settings say how many nodes there are and how they behave.
type Settings struct {
	Count int `json:"count"`
	// Zones and Cells are dealt out in turn, so that every cell has nodes in every zone when there are enough.
	Zones       []string `json:"zones"`
	Cells       []string `json:"cells"`
	PodsPerNode int      `json:"podsPerNode"`
	// StartDelay, ReadyDelay and RestartDelay are those of the model in test/node.
	StartDelay   time.Duration `json:"startDelay"`
	ReadyDelay   time.Duration `json:"readyDelay"`
	RestartDelay time.Duration `json:"restartDelay"`
}

// Defaults are six nodes in three zones and two cells.
func Defaults() Settings {
	return Settings{
		Count:        6,
		Zones:        []string{"zone-a", "zone-b", "zone-c"},
		Cells:        []string{"cell-1", "cell-2"},
		PodsPerNode:  110,
		StartDelay:   time.Second,
		RestartDelay: time.Second,
	}
}

// Validate says what is wrong with the settings.
func (s Settings) Validate() error {
	var errs []error
	if s.Count < 0 || s.Count > 60000 {
		errs = append(errs, fmt.Errorf("%d nodes: at least 0 and at most 60000 are possible", s.Count))
	}
	if len(s.Zones) == 0 || slices.Contains(s.Zones, "") {
		errs = append(errs, errors.New("zones: at least one is needed, and none may be empty"))
	}
	if len(s.Cells) == 0 || slices.Contains(s.Cells, "") {
		errs = append(errs, errors.New("cells: at least one is needed, and none may be empty"))
	}
	if s.PodsPerNode < 1 {
		errs = append(errs, fmt.Errorf("%d pods per node: at least 1 is needed", s.PodsPerNode))
	}
	for name, delay := range map[string]time.Duration{"start": s.StartDelay, "ready": s.ReadyDelay, "restart": s.RestartDelay} {
		if delay < 0 {
			errs = append(errs, fmt.Errorf("the %s delay is negative", name))
		}
	}
	return errors.Join(errs...)
}

// Equal reports whether the settings make the same nodes.
func (s Settings) Equal(other Settings) bool {
	return s.Count == other.Count && s.PodsPerNode == other.PodsPerNode &&
		s.StartDelay == other.StartDelay && s.ReadyDelay == other.ReadyDelay && s.RestartDelay == other.RestartDelay &&
		slices.Equal(s.Zones, other.Zones) && slices.Equal(s.Cells, other.Cells)
}

func (s Settings) name(i int) string { return fmt.Sprintf("node-%d", i) }

func (s Settings) labels(i int) map[string]string {
	return map[string]string{
		LabelSimulated:                 "true",
		corev1.LabelHostname:           s.name(i),
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         "amd64",
		corev1.LabelTopologyZone:       s.Zones[i%len(s.Zones)],
		LabelCell:                      s.Cells[i/len(s.Zones)%len(s.Cells)],
		"node-role.kubernetes.io/node": "",
	}
}

// hostIP is an address for the Node object. Nothing listens there.
func (s Settings) hostIP(i int) string { return fmt.Sprintf("172.16.%d.%d", i/250, 1+i%250) }

func (s Settings) capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             *resource.NewQuantity(int64(s.PodsPerNode), resource.DecimalSI),
	}
}

// model is the behaviour of one node, as its object describes it.
func (s Settings) model(n *corev1.Node) node.Model {
	m := node.Model{StartDelay: s.StartDelay, ReadyDelay: s.ReadyDelay, RestartDelay: s.RestartDelay}
	for _, address := range n.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			m.HostIP = address.Address
		}
	}
	m.Allocatable = corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if amount, known := n.Status.Capacity[name]; known {
			m.Allocatable[name] = amount
		}
	}
	return m
}

func isCut(n *corev1.Node) bool  { return n.Annotations[AnnotationCut] != "" }
func isFull(n *corev1.Node) bool { return n.Annotations[AnnotationFull] != "" }
