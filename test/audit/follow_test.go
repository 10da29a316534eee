// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// screen is an API server whose watches show what the test lets happen: each of them has a turn.
type screen struct {
	pods  []corev1.Pod
	turns chan *watch.FakeWatcher
}

func (s *screen) api() client.WithWatch {
	return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			pods, is := list.(*corev1.PodList)
			if !is {
				return fmt.Errorf("a list of %T", list)
			}
			pods.Items, pods.ResourceVersion = s.pods, "100"
			return nil
		},
		Watch: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
			select {
			case turn := <-s.turns:
				return turn, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	})
}

func state(namespace, name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version}}
}

// told are sightings in words.
func told(seen []Sighting) []string {
	var words []string
	for _, s := range seen {
		words = append(words, fmt.Sprintf("%s %d gone=%t pod=%t", s.Name, s.Version, s.Gone, s.Pod != nil))
	}
	return words
}

func TestAFollowerSeesEveryState(t *testing.T) {
	first, second := watch.NewFake(), watch.NewFake()
	s := &screen{pods: []corev1.Pod{*state("demo", "web-a", "90"), *state("demo", "web-b", "95")}, turns: make(chan *watch.FakeWatcher, 2)}
	s.turns <- first
	s.turns <- second
	f, err := Follow(t.Context(), s.api())
	if err != nil {
		t.Fatal(err)
	}
	first.Modify(state("demo", "web-a", "101"))
	first.Add(state("other", "web-c", "102"))
	first.Delete(state("demo", "web-b", "103"))
	// The API server was started again, and no longer knows what came since; web-b is not there any more.
	s.pods = []corev1.Pod{*state("demo", "web-a", "110")}
	first.Error(&metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired})
	second.Modify(state("demo", "web-a", "111"))
	second.Modify(state("demo", "web-a", "112"))
	f.Stop()

	want := []string{
		"web-a 90 gone=false pod=true", "web-b 95 gone=false pod=true", "web-a 101 gone=false pod=true", "web-b 103 gone=true pod=false",
		"web-a 110 gone=false pod=true", "web-a 111 gone=false pod=true",
	}
	got := told(f.Seen("demo", time.Now()))
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if early := f.Seen("demo", time.Now().Add(-time.Hour)); len(early) != 0 {
		t.Errorf("seen an hour ago: %v", told(early))
	}

	f.Forget([]Write{
		{Code: 200, Namespace: "demo", Name: "web-a", Pods: []corev1.Pod{*state("demo", "web-a", "101")}},
		{Code: 504, Namespace: "demo", Name: "web-a", Pods: nil},
		{Code: 409, Namespace: "demo", Name: "web-a", Pods: []corev1.Pod{*state("demo", "web-a", "110")}},
	})
	want = append(want[:2:2], want[3:]...)
	got = told(f.Seen("demo", time.Now()))
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Errorf("left behind what the log tells of (-want +got):\n%s", diff)
	}
}

func TestAFollowerNeedsToSeeThePodsThatAreThere(t *testing.T) {
	refused := fmt.Errorf("nobody is at home")
	api := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused },
	})
	if _, err := Follow(t.Context(), api); err == nil || err.Error() != "listing all pods: nobody is at home" {
		t.Errorf("error %v", err)
	}
}
