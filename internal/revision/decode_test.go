// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func BenchmarkDecode(b *testing.B) {
	raw, err := os.ReadFile("testdata/webhook-defaulted.json")
	if err != nil {
		b.Fatal(err)
	}
	object := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: raw}}
	b.ReportAllocs()
	for b.Loop() {
		if r := Decode(object); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

func BenchmarkFromTemplate(b *testing.B) {
	raw, err := os.ReadFile("testdata/webhook-defaulted.json")
	if err != nil {
		b.Fatal(err)
	}
	template := Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: raw}}).Written
	b.ReportAllocs()
	for b.Loop() {
		if r := FromTemplate(template); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

func BenchmarkEqual(b *testing.B) {
	x, y := FromTemplate(web("nginx:1")), FromTemplate(web("nginx:1"))
	b.ReportAllocs()
	for b.Loop() {
		if !Equal(x, y) {
			b.Fatal("not equal")
		}
	}
}
