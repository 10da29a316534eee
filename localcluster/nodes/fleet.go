// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/ptr"
)

const (
	// renewEvery is how often a node renews its lease; the control plane waits some 50 seconds for it.
	renewEvery = 10 * time.Second
	// atOnce bounds parallel requests about nodes.
	atOnce = 16
)

// fleet keeps the Node objects and their leases.
type fleet struct {
	client   kubernetes.Interface
	settings Settings
	version  string
	nodes    corelisters.NodeLister
	queue    *queue
	log      *slog.Logger
}

func newFleet(client kubernetes.Interface, settings Settings, nodes coreinformers.NodeInformer, log *slog.Logger) *fleet {
	f := &fleet{client: client, settings: settings, nodes: nodes.Lister(), log: log}
	f.queue = newQueue("node", log, f.sync)
	f.queue.watch(nodes.Informer())
	return f
}

// register makes the nodes that the settings ask for, and removes those that they no longer do.
func (f *fleet) register(ctx context.Context) error {
	version, err := f.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking for the server's version: %w", err)
	}
	f.version = version.GitVersion
	wanted := map[string]bool{}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range f.settings.Count {
		wanted[f.settings.name(i)] = true
		group.Go(func() error { return f.registerOne(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	existing, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: LabelSimulated})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range existing.Items {
		name := existing.Items[i].Name
		if wanted[name] {
			continue
		}
		if err := f.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing node %s: %w", name, err)
		}
	}
	return nil
}

func (f *fleet) registerOne(ctx context.Context, i int) error {
	name := f.settings.name(i)
	address := f.settings.hostIP(i)
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: f.settings.labels(i)},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name},
		}},
	}
	f.describe(object, time.Now())
	_, err := f.client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"metadata": map[string]any{"labels": object.Labels}}); err == nil {
			_, err = f.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
	}
	if err != nil {
		return fmt.Errorf("registering node %s: %w", name, err)
	}
	return f.renew(ctx, name)
}

// describe writes the status that the node should have into the object.
func (f *fleet) describe(n *corev1.Node, now time.Time) {
	n.Status.Capacity = f.settings.capacity()
	n.Status.Allocatable = f.settings.capacity()
	if isFull(n) {
		n.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(0, resource.DecimalSI)
	}
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion: f.version, ContainerRuntimeVersion: "simulated://1", OperatingSystem: "linux", Architecture: "amd64",
		OSImage: "simulated", KernelVersion: "simulated", MachineID: n.Name, SystemUUID: n.Name, BootID: n.Name,
	}
	for _, c := range []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "a simulated node is always ready"},
	} {
		setCondition(n, c, now)
	}
}

func setCondition(n *corev1.Node, c corev1.NodeCondition, now time.Time) {
	c.LastHeartbeatTime, c.LastTransitionTime = metav1.NewTime(now), metav1.NewTime(now)
	for i := range n.Status.Conditions {
		old := &n.Status.Conditions[i]
		if old.Type != c.Type {
			continue
		}
		if old.Status != c.Status || old.Reason != c.Reason {
			*old = c
		}
		return
	}
	n.Status.Conditions = append(n.Status.Conditions, c)
}

// sync corrects a node's status where it is not what it should be, as after a silence, when the control
// plane has called the node's state unknown.
func (f *fleet) sync(ctx context.Context, name string) (time.Duration, error) {
	n, err := f.nodes.Get(name)
	if apierrors.IsNotFound(err) || err == nil && (n.Labels[LabelSimulated] == "" || isCut(n)) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the cache: %w", err)
	}
	want := n.DeepCopy()
	f.describe(want, time.Now())
	if equality.Semantic.DeepEqual(n.Status, want.Status) {
		return 0, nil
	}
	before, err := json.Marshal(&corev1.Node{Status: n.Status})
	if err != nil {
		return 0, fmt.Errorf("encoding the status: %w", err)
	}
	after, err := json.Marshal(&corev1.Node{Status: want.Status})
	if err != nil {
		return 0, fmt.Errorf("encoding the next status: %w", err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Node{})
	if err != nil {
		return 0, fmt.Errorf("comparing statuses: %w", err)
	}
	if _, err := f.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil && !overtaken(err) {
		return 0, fmt.Errorf("reporting the status: %w", err)
	}
	return 0, f.renew(ctx, name)
}

// run keeps statuses and leases until the context ends.
func (f *fleet) run(ctx context.Context, group *errgroup.Group) {
	f.queue.run(ctx, group, 2)
	group.Go(func() error {
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				f.renewAll(ctx)
			}
		}
	})
}

func (f *fleet) renewAll(ctx context.Context) {
	all, err := f.nodes.List(labels.SelectorFromSet(labels.Set{LabelSimulated: "true"}))
	if err != nil {
		f.log.Warn("cannot list nodes", "error", err)
		return
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, n := range all {
		if isCut(n) {
			continue
		}
		group.Go(func() error {
			if err := f.renew(ctx, n.Name); err != nil && ctx.Err() == nil {
				f.log.Warn("the next renewal will try again", "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // each has told its own failure
}

func (f *fleet) renew(ctx context.Context, name string) error {
	now := metav1.NewMicroTime(time.Now())
	leases := f.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": now}})
	if err != nil {
		return fmt.Errorf("encoding the lease of %s: %w", name, err)
	}
	_, err = leases.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: ptr.To[int32](40), RenewTime: &now},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renewing the lease of %s: %w", name, err)
	}
	return nil
}
