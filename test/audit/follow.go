// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lookAgain is the time between two tries to list pods while the API server is away.
const lookAgain = 200 * time.Millisecond

// Follower sees the states of all pods as they come. The audit log alone does not tell of all: what a client asked for that was
// killed before its answer is done, and is written down as a failure without the pod.
type Follower struct {
	api    client.WithWatch
	cancel context.CancelFunc
	ended  chan struct{}

	mu   sync.Mutex
	seen []Sighting
}

// Follow looks at the pods of all namespaces as they are, and then sees what becomes of them until Stop. It goes on by itself
// after the API server was away; what came and went meanwhile it may miss. An error says that the pods could not be listed.
func Follow(ctx context.Context, api client.WithWatch) (*Follower, error) {
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard())) // an API server that is away is no news
	f := &Follower{api: api, cancel: cancel, ended: make(chan struct{})}
	version, err := f.list(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	go f.run(ctx, version)
	return f, nil
}

func (f *Follower) run(ctx context.Context, version string) {
	defer close(f.ended)
	for ctx.Err() == nil {
		events, err := watchtools.NewRetryWatcherWithContext(ctx, version, podWatcher{f.api})
		if err != nil {
			return // the version of a list is one to watch from
		}
		for event := range events.ResultChan() {
			if pod, is := event.Object.(*corev1.Pod); is {
				f.see(pod, event.Type == watch.Deleted)
			}
		}
		// It ends when the API server has forgotten what came since, as one that was started again has.
		if wait.PollUntilContextCancel(ctx, lookAgain, true, func(ctx context.Context) (bool, error) {
			version, err = f.list(ctx)
			return err == nil, nil
		}) != nil {
			return
		}
	}
}

// Look sees all pods as they are now.
func (f *Follower) Look(ctx context.Context) error {
	_, err := f.list(ctx)
	return err
}

// list sees all pods as they are, and returns the version of that.
func (f *Follower) list(ctx context.Context) (string, error) {
	list := &corev1.PodList{}
	if err := f.api.List(ctx, list); err != nil {
		return "", fmt.Errorf("listing all pods: %w", err)
	}
	for i := range list.Items {
		f.see(&list.Items[i], false)
	}
	return list.ResourceVersion, nil
}

// podWatcher is what a RetryWatcher asks for the next part of the watch.
type podWatcher struct{ api client.WithWatch }

// WatchWithContext watches the pods of all namespaces.
func (w podWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.api.Watch(ctx, &corev1.PodList{}, &client.ListOptions{Raw: &options})
}

func (f *Follower) see(pod *corev1.Pod, removed bool) {
	s := See(pod, time.Now(), removed)
	if removed { // it shows the state before, which came earlier
		s.Pod, s.Deletion = nil, true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, s)
}

// Forget drops the states of which the log tells by now.
func (f *Follower) Forget(writes []Write) {
	told := map[uint64]bool{}
	for _, s := range Sightings(writes) {
		told[s.Version] = s.Version != 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = slices.DeleteFunc(f.seen, func(s Sighting) bool { return told[s.Version] })
}

// Seen are the states of the pods of a namespace that were seen before a time and not forgotten.
func (f *Follower) Seen(namespace string, before time.Time) []Sighting {
	f.mu.Lock()
	defer f.mu.Unlock()
	var seen []Sighting
	for _, s := range f.seen {
		if s.Namespace == namespace && s.At.Before(before) {
			seen = append(seen, s)
		}
	}
	return seen
}

// Stop ends it.
func (f *Follower) Stop() {
	f.cancel()
	<-f.ended
}
