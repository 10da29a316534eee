// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// ceiling finds how many requests per second this machine carries for a plain client that sends JSON. Nobody acts on
// its pods, so the figures bound what any controller can reach.
func (b *bench) ceiling(ctx context.Context, pods int) {
	r := b.newRow(pods, "plain client", scenarioCeiling)
	r.note("%d pods, %d workers, JSON", b.o.ceilingPods, b.o.workers)
	b.finish(r, func() error {
		ctx, cancel := context.WithTimeout(ctx, b.o.patience)
		defer cancel()
		return b.findCeiling(ctx, r)
	})
}

func (b *bench) findCeiling(ctx context.Context, r *row) error {
	config := rest.CopyConfig(b.cluster.config)
	config.ContentType = "application/json"
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a plain client: %w", err)
	}
	pods := api.CoreV1().Pods(b.namespace)
	name := func(i int) string { return fmt.Sprintf("plain-%d", i) }
	phases := []struct {
		figure string
		do     func(ctx context.Context, i int) error
	}{
		{createRate, func(ctx context.Context, i int) error {
			t := template("plain")
			t.Spec.SchedulerName = "nobody" // no scheduler and no node has work with them
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name(i), Labels: t.Labels}, Spec: t.Spec}
			_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
			return err
		}},
		{statusRate, func(ctx context.Context, i int) error {
			body := []byte(`{"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
			_, err := pods.Patch(ctx, name(i), types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
			return err
		}},
		{imageRate, func(ctx context.Context, i int) error {
			body := fmt.Appendf(nil, `{"spec":{"containers":[{"name":%q,"image":%q}]}}`, container, image(1))
			_, err := pods.Patch(ctx, name(i), types.StrategicMergePatchType, body, metav1.PatchOptions{})
			return err
		}},
		{deleteRate, func(ctx context.Context, i int) error {
			return pods.Delete(ctx, name(i), metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		}},
	}
	for _, phase := range phases {
		begin := time.Now()
		if err := parallel(ctx, b.o.workers, b.o.ceilingPods, phase.do); err != nil {
			return fmt.Errorf("measuring %s: %w", phase.figure, err)
		}
		r.set(phase.figure, float64(b.o.ceilingPods)/time.Since(begin).Seconds())
	}
	return nil
}
