// SPDX-License-Identifier: Apache-2.0

// Package cloneset is a kind that writes behind the back of apply.
package cloneset

import (
	"context"
	"errors"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	_ "slipway.dev/slipway/internal/apply"
	_ "slipway.dev/slipway/internal/cloneset/plan"
	_ "slipway.dev/slipway/internal/statefulset" // want depguard
	_ "slipway.dev/slipway/internal/step"
)

// Reconciler has clients that it may only read by.
type Reconciler struct {
	client    client.Client
	clientset kubernetes.Interface
}

// Reconcile writes in every way that is forbidden.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod, patch client.Patch) error {
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return err
	}
	_, err := r.clientset.CoreV1().Pods("").Update(ctx, pod, metav1.UpdateOptions{}) // want forbidigo
	if err == io.EOF {                                                               // want errorlint
		time.Sleep(time.Second) // want forbidigo
	}
	ctx = context.TODO() // want forbidigo
	var writer client.Writer = r.client
	return errors.Join(
		r.client.Create(ctx, pod),                  // want forbidigo
		r.client.Update(ctx, pod),                  // want forbidigo
		r.client.Patch(ctx, pod, patch),            // want forbidigo
		writer.Delete(ctx, pod),                    // want forbidigo
		r.client.DeleteAllOf(ctx, pod),             // want forbidigo
		r.client.Status().Patch(ctx, pod, patch),   // want forbidigo
		r.client.SubResource("x").Update(ctx, pod), /* want nolintlint */ //nolint:forbidigo
	)
}

func (r *Reconciler) Undocumented() time.Time { // want revive
	return time.Now() // want forbidigo
}
