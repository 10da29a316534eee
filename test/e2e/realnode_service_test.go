// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/images/whoami"
)

const (
	// syncEvery is the least time between two changes of a proxy's table. It is what kube-proxy does unless told otherwise.
	syncEvery = time.Second
	// inFlight is how many requests a Service has under way at any time, and pause how long the server thinks about each.
	inFlight = 16
	pause    = "50ms"
)

// visitors send requests to a Service without an end. They go where a node's proxy would send them: to the pods that the
// Service's EndpointSlices name, as far as they are known by now.
type visitors struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu sync.Mutex
	// table holds the addresses that requests go to.
	table []string
	tally
}

// tally counts requests. A request is lost when its caller got no complete answer with status 200, for whatever reason.
type tally struct {
	made, lost int
	// answers counts answers by the version that gave them, reasons lost requests by what befell them.
	answers, reasons map[string]int
}

// visit makes a Service for the pods with this label app, and sends requests to it until the visitors are sent home.
func visit(app string) *visitors {
	GinkgoHelper()
	return visitService(app, map[string]string{"app": app})
}

// visitService does so with a Service for the pods that are selected; for those that others name when nothing is.
func visitService(name string, selector map[string]string) *visitors {
	GinkgoHelper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.ServiceSpec{
			Selector: selector, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt(ports[appContainer])}},
		},
	}
	Expect(cluster.Create(testCtx, service)).To(Succeed())
	config, err := localcluster.ClientConfig(cluster.root)
	Expect(err).NotTo(HaveOccurred())
	clients, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())

	ctx, stop := context.WithCancel(testCtx)
	v := &visitors{stop: stop, tally: tally{answers: map[string]int{}, reasons: map[string]int{}}}
	v.follow(ctx, informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = discoveryv1.LabelServiceName + "=" + name })))
	return v
}

// follow keeps the table as the EndpointSlices are, until ctx ends.
func (v *visitors) follow(ctx context.Context, factory informers.SharedInformerFactory) {
	GinkgoHelper()
	changed := make(chan struct{}, 1)
	change := func() {
		select {
		case changed <- struct{}{}:
		default: // whoever reads it sees this change, too
		}
	}
	slices := factory.Discovery().V1().EndpointSlices()
	_, err := slices.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { change() }, UpdateFunc: func(any, any) { change() }, DeleteFunc: func(any) { change() },
	})
	Expect(err).NotTo(HaveOccurred())
	factory.Start(ctx.Done())
	v.done.Go(func() {
		for wait(ctx, changed) {
			all, err := slices.Lister().List(labels.Everything())
			if err != nil {
				continue // a list from memory does not fail
			}
			v.mu.Lock()
			v.table = backends(all)
			v.mu.Unlock()
			wait(ctx, time.After(syncEvery))
		}
	})
}

// wait tells whether something came before ctx ended.
func wait[T any](ctx context.Context, something <-chan T) bool {
	select {
	case <-something:
		return true
	case <-ctx.Done():
		return false
	}
}

// backends are whom a node's proxy sends requests to: pods that are ready, and if there are none, those that still serve
// while they go.
func backends(all []*discoveryv1.EndpointSlice) []string {
	var ready, last []string
	for _, slice := range all {
		for _, endpoint := range slice.Endpoints {
			is := func(condition *bool, otherwise bool) bool {
				if condition == nil {
					return otherwise
				}
				return *condition
			}
			switch c := endpoint.Conditions; {
			case is(c.Ready, true):
				ready = append(ready, endpoint.Addresses...)
			case is(c.Serving, true) && is(c.Terminating, false):
				last = append(last, endpoint.Addresses...)
			}
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return last
}

// come has the visitors begin when the table holds n addresses.
func (v *visitors) come(n int) {
	GinkgoHelper()
	Eventually(func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.table)
	}).WithTimeout(realPatience).Should(Equal(n), "pods behind the Service")
	ctx, end := context.WithCancel(testCtx)
	table := v.stop
	v.stop = func() { end(); table() }
	for range inFlight {
		v.done.Go(func() {
			for ctx.Err() == nil {
				v.count(v.request())
			}
		})
	}
}

// goHome returns when the last answer has come. No request is cut off.
func (v *visitors) goHome() tally {
	v.stop()
	v.done.Wait()
	return v.tally
}

func (v *visitors) requests() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.made
}

func (v *visitors) count(version string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.made++
	if err == nil {
		v.answers[version]++
		return
	}
	v.lost++
	v.reasons[reason(err)]++
}

var errNobody = errors.New("no pod behind the Service")

// request sends one request on a connection of its own, since on one that was used before a client may try again without
// telling. It returns the version of who answered.
func (v *visitors) request() (string, error) {
	v.mu.Lock()
	table := v.table
	v.mu.Unlock()
	if len(table) == 0 {
		time.Sleep(lookEvery) // a client that is refused comes back, but not at once
		return "", errNobody
	}
	address := net.JoinHostPort(table[rand.IntN(len(table))], strconv.Itoa(ports[appContainer]))
	ctx, cancel := context.WithTimeout(testCtx, askFor)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/wait?for="+pause, nil)
	if err != nil {
		return "", err
	}
	response, err := visitor.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", response.StatusCode)
	}
	var answer whoami.Answer
	if err := json.Unmarshal(content, &answer); err != nil {
		return "", err
	}
	return answer.Version, nil
}

// visitor never uses a connection twice.
var visitor = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// reason is a word for why a request was lost, without addresses.
func reason(err error) string {
	for known, word := range map[error]string{
		syscall.ECONNREFUSED: "connection refused", syscall.ECONNRESET: "connection reset", syscall.EHOSTUNREACH: "no route to host",
		os.ErrDeadlineExceeded: "timeout", context.DeadlineExceeded: "timeout", io.EOF: "connection closed", io.ErrUnexpectedEOF: "connection closed",
	} {
		if errors.Is(err, known) {
			return word
		}
	}
	return err.Error()
}
