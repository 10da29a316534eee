// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	podWorkers    = 16
	volumeWorkers = 4
)

// Run stands in for all nodes until the context ends. It returns an error only if it could not begin.
func Run(ctx context.Context, config *rest.Config, settings Settings, log *slog.Logger) error {
	if err := settings.Validate(); err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	config.QPS = -1 // real kubelets do not share one limit either
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}

	everything := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
	bound := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		}))

	fleet := newFleet(client, settings, everything.Core().V1().Nodes(), log)
	kubelets, err := newKubelets(client, settings, bound.Core().V1().Pods(), everything.Core().V1().Nodes(), log)
	if err != nil {
		return err
	}
	volumes := newVolumes(client, everything, log)

	if err := fleet.register(ctx); err != nil {
		return err
	}
	if err := volumes.register(ctx); err != nil {
		return err
	}
	for _, factory := range []informers.SharedInformerFactory{everything, bound} {
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		defer factory.Shutdown()
	}
	if ctx.Err() != nil {
		return nil // asked to end before it had begun: no failure
	}
	log.Info("nodes are up", "nodes", settings.Count)

	var group errgroup.Group
	fleet.run(ctx, &group)
	kubelets.queue.run(ctx, &group, podWorkers)
	volumes.queue.run(ctx, &group, volumeWorkers)
	return group.Wait()
}

// slim drops what nobody here reads, which is much of a pod.
func slim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// queue works off keys with a function that returns when to look at the key again (0: not by itself).
type queue struct {
	workqueue.TypedRateLimitingInterface[string]
	what string
	work func(ctx context.Context, key string) (time.Duration, error)
	log  *slog.Logger
}

func newQueue(what string, log *slog.Logger, work func(context.Context, string) (time.Duration, error)) *queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 10*time.Second)
	return &queue{TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueue(limiter), what: what, work: work, log: log}
}

func (q *queue) run(ctx context.Context, group *errgroup.Group, workers int) {
	context.AfterFunc(ctx, q.ShutDown)
	for range workers {
		group.Go(func() error {
			for q.next(ctx) {
			}
			return nil
		})
	}
}

func (q *queue) next(ctx context.Context) bool {
	key, quit := q.Get()
	if quit {
		return false
	}
	defer q.Done(key)
	again, err := q.work(ctx, key)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		q.log.Warn("will try again", "what", q.what, "key", key, "error", err)
		q.AddRateLimited(key)
	default:
		q.Forget(key)
		if again > 0 {
			q.AddAfter(key, again)
		}
	}
	return true
}

// watch puts the key of every object that changes into the queue.
func (q *queue) watch(informer cache.SharedIndexInformer) {
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			q.Add(key)
		}
	}
	// The registration fails only on an informer that has stopped, and these have not started.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, after any) { add(after) }, DeleteFunc: add,
	})
}

var _ cache.TransformFunc = slim

// nodeOf indexes pods by their node.
func nodeOf(object any) ([]string, error) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return nil, fmt.Errorf("%T is no pod", object)
	}
	return []string{pod.Spec.NodeName}, nil
}
