// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/test/audit"
)

func ownedPod(version string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a", ResourceVersion: version,
			OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: ptr.To(true)}}},
	}
}

func line(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	content, err := json.Marshal(map[string]any{
		"stage": "ResponseComplete", "verb": "patch", "userAgent": product, "objectRef": map[string]string{"resource": "pods", "name": p.Name},
		"responseStatus": map[string]int{"code": 200}, "responseObject": p,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(content) + "\n"
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func TestTheWitnessWaitsForTheLogAndForgetsWhatWasBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(line(t, ownedPod("1"))), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := newWitness(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := appendTo(path, line(t, ownedPod("2"))); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(3*lookEvery, func() {
		if err := appendTo(path, line(t, ownedPod("3"))); err != nil {
			t.Error(err)
		}
	})
	defer late.Stop()
	h, err := w.testify(t.Context(), "set", []*corev1.Pod{ownedPod("3")})
	if err != nil {
		t.Fatal(err)
	}
	if !h.Knows(ownedPod("3")) || w.count() != 2 || len(w.since(1)) != 1 {
		t.Errorf("%d writes, %d since the first one; want 2, and 1", w.count(), len(w.since(1)))
	}
	if moments := h.Moments(audit.Window{}, 0); len(moments) != 3 { // nothing, and the two states
		t.Errorf("%d moments, want 3: %+v", len(moments), moments)
	}
}

func TestTheWitnessWithoutALogTakesWhatItSees(t *testing.T) {
	w, err := newWitness("")
	if err != nil {
		t.Fatal(err)
	}
	w.see(ownedPod("1"), false)
	w.see(ownedPod("2"), true)
	h, err := w.testify(t.Context(), "set", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.At(1)) != 1 || len(h.At(0)) != 0 || w.since(0) != nil {
		t.Errorf("pods at the beginning %v, at the end %v, writes %v", h.At(1), h.At(0), w.since(0))
	}
}

func TestTheWitnessNeedsTheLogThatItWasPromised(t *testing.T) {
	if _, err := newWitness(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a log that is not there was accepted")
	}
}
