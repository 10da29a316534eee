// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/integration/plane"
	"slipway.dev/slipway/test/simulation/api/applies"
)

var live client.Client

func TestMain(m *testing.M) {
	os.Exit(plane.Run(m, func(config *rest.Config) {
		ctrl.SetLogger(logr.Discard())
		var err error
		if live, err = client.New(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
			fmt.Fprintln(os.Stderr, "connecting:", err)
			os.Exit(1)
		}
	}))
}

func TestARealServerSaysTheSame(t *testing.T) {
	n := 0
	for sentence, story := range applies.Stories() {
		n++
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("apply-%d", n)}}
		t.Run(sentence, func(t *testing.T) {
			if err := live.Create(t.Context(), namespace); err != nil {
				t.Fatal(err)
			}
			for i := range story.Requests {
				if o := story.Requests[i].Applies; o != nil {
					o.SetNamespace(namespace.Name)
				}
			}
			story.Play(t, func(string) client.Client { return live })
		})
	}
}
