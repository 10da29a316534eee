// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// configured says early that nothing names a cluster: clients would try localhost:8080 otherwise, which
// tells nobody what is wrong.
func (g *getSets) configured() error {
	config, err := g.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return g.explain(fmt.Errorf("reading the kubeconfig: %w", err))
	}
	insidePod := g.env.Getenv("KUBERNETES_SERVICE_HOST") != ""
	if clientcmdapi.IsConfigEmpty(&config) && *g.flags.APIServer == "" && !insidePod {
		return errors.New("no cluster is configured: give --kubeconfig, or set KUBECONFIG")
	}
	return nil
}

// explain adds to an error what the person in front of the terminal can do about it.
func (g *getSets) explain(err error) error {
	var noNetwork *net.OpError
	var noName *net.DNSError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &noNetwork), errors.As(err, &noName):
		return fmt.Errorf("cannot reach the API server (check --kubeconfig and --context, and that the cluster runs): %w", err)
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return fmt.Errorf("this cluster has no %ss: their CustomResourceDefinition is not installed: %w", g.kind.Name(), err)
	case apierrors.IsNotFound(err) && g.name != "":
		return fmt.Errorf("no %s %q in namespace %q; `%s get %s -A` lists those of all namespaces", g.kind.Name(), g.name, g.namespace, g.env.Program, g.kind.command)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w\n%s needs get, list and watch of %s", err, g.env.Program, g.needed())
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server does not accept these credentials: %w", err)
	default:
		return err
	}
}

// needed are the resources that have to be readable.
func (g *getSets) needed() string {
	reads := g.kind.Reads()
	if len(reads) == 0 {
		return g.kind.resource()
	}
	last := len(reads) - 1
	return strings.Join(append([]string{g.kind.resource()}, reads[:last]...), ", ") + " and " + reads[last]
}
