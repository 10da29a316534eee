// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/test/node"
)

const indexByNode = "node"

// kubelets report the status of every pod on every node that is not cut off.
type kubelets struct {
	client   kubernetes.Interface
	settings Settings
	pods     cache.Indexer
	nodes    corelisters.NodeLister
	queue    *queue

	// written has what we last wrote to a pod, until the cache shows it. Deciding on the older pod would
	// start its containers a second time.
	mu      sync.Mutex
	written map[string]*corev1.Pod

	// unkept: the server keeps no generations in statuses, as one before Kubernetes 1.34. It would be told of them for ever.
	unkept atomic.Bool
}

func newKubelets(client kubernetes.Interface, settings Settings, pods coreinformers.PodInformer, nodes coreinformers.NodeInformer, log *slog.Logger) (*kubelets, error) {
	k := &kubelets{client: client, settings: settings, nodes: nodes.Lister(), written: map[string]*corev1.Pod{}}
	informer := pods.Informer()
	if err := informer.AddIndexers(cache.Indexers{indexByNode: nodeOf}); err != nil {
		return nil, fmt.Errorf("indexing pods by node: %w", err)
	}
	k.pods = informer.GetIndexer()
	k.queue = newQueue("pod", log, k.sync)
	k.queue.watch(informer)
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { k.wakePodsOf(object) },
		UpdateFunc: func(before, after any) {
			if old, isNode := before.(*corev1.Node); isNode && isCut(old) {
				k.wakePodsOf(after)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	return k, nil
}

// wakePodsOf looks at the pods of a node that appeared or is no longer cut off.
func (k *kubelets) wakePodsOf(object any) {
	n, isNode := object.(*corev1.Node)
	if !isNode || isCut(n) {
		return
	}
	keys, err := k.pods.IndexKeys(indexByNode, n.Name)
	if err != nil {
		return // only an index that does not exist has no keys
	}
	for _, key := range keys {
		k.queue.Add(key)
	}
}

// sync does for one pod what its node does next.
func (k *kubelets) sync(ctx context.Context, key string) (time.Duration, error) {
	pod, err := k.latest(key)
	if pod == nil || err != nil {
		return 0, err
	}
	n, err := k.nodes.Get(pod.Spec.NodeName)
	if apierrors.IsNotFound(err) || err == nil && (n.Labels[LabelSimulated] == "" || isCut(n)) {
		return 0, nil // somebody else's pod, or a silent node's
	}
	if err != nil {
		return 0, fmt.Errorf("reading node %s: %w", pod.Spec.NodeName, err)
	}
	model := k.settings.model(n)
	model.NoGenerations = k.unkept.Load()
	out := model.Next(pod, time.Now())
	switch {
	case out.Gone:
		err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !overtaken(err) {
			return 0, fmt.Errorf("removing the pod: %w", err)
		}
	case out.Status != nil:
		if err := k.report(ctx, key, pod, out.Status); err != nil {
			return 0, err
		}
	}
	return out.LookAgain, nil
}

func (k *kubelets) report(ctx context.Context, key string, pod *corev1.Pod, status *corev1.PodStatus) error {
	patch, err := node.Patch(pod, status)
	if err != nil {
		return err
	}
	stored, err := k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationIgnore}, "status")
	switch {
	case err == nil:
		if status.ObservedGeneration > 0 && stored.Status.ObservedGeneration == 0 {
			k.unkept.Store(true)
		}
		stored.ManagedFields = nil
		k.mu.Lock()
		k.written[key] = stored
		k.mu.Unlock()
	case !overtaken(err):
		return fmt.Errorf("reporting the status: %w", err)
	}
	return nil
}

// latest returns the newer of what the cache has and what we wrote, or nil if the pod is gone.
func (k *kubelets) latest(key string) (*corev1.Pod, error) {
	object, exists, err := k.pods.GetByKey(key)
	if err != nil {
		return nil, fmt.Errorf("reading the cache: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ours := k.written[key]
	if !exists {
		delete(k.written, key)
		return nil, nil
	}
	cached, isPod := object.(*corev1.Pod)
	if !isPod {
		return nil, fmt.Errorf("the cache holds a %T", object)
	}
	if ours == nil {
		return cached, nil
	}
	order, err := resourceversion.CompareResourceVersion(ours.ResourceVersion, cached.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("comparing versions: %w", err)
	}
	if order > 0 {
		return ours, nil
	}
	delete(k.written, key)
	return cached, nil
}

// overtaken says that the pod is gone or is another one by now. Its events tell the rest.
func overtaken(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
