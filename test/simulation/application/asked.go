// SPDX-License-Identifier: Apache-2.0

package application

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// asked is what a component asks for, as the simulation reads it.
type asked struct {
	version   string
	replicas  int
	scaled    bool // by an autoscaler, between these
	low, high int
	exposed   bool
}

func askedOf(c *oamv1beta1.ApplicationComponent) asked {
	var component struct {
		Image string `json:"image"`
	}
	readInto(c.Properties, &component)
	a := asked{replicas: 1}
	_, a.version, _ = strings.Cut(component.Image, "app:")
	for _, t := range c.Traits {
		switch t.Type {
		case "expose":
			a.exposed = true
		case "scaler":
			var scaler struct {
				Replicas int `json:"replicas"`
			}
			readInto(t.Properties, &scaler)
			a.replicas = scaler.Replicas
		case "hpa":
			var hpa struct {
				Min int `json:"min"`
				Max int `json:"max"`
			}
			readInto(t.Properties, &hpa)
			a.scaled, a.low, a.high = true, hpa.Min, hpa.Max
		}
	}
	return a
}

func readInto(properties *runtime.RawExtension, into any) {
	if err := json.Unmarshal(properties.Raw, into); err != nil {
		panic(fmt.Sprintf("properties cannot be read: %v", err))
	}
}
