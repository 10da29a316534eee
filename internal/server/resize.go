// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// OffersResize asks the server whether it can change the resources of living pods, by one request over the given
// connection. An error says that it could not be asked.
func OffersResize(config *rest.Config, connection *http.Client) (bool, error) {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(config, connection)
	if err != nil {
		return false, fmt.Errorf("connecting for discovery: %w", err)
	}
	core, err := client.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return false, fmt.Errorf("asking which resources the server has: %w", err)
	}
	return slices.ContainsFunc(core.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" }), nil
}
