// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte(podTemplate("", "")))
	f.Add([]byte(podTemplate(`"resources":{"limits":{"cpu":"1e3","memory":"0.5Gi"}},"new":{"a":[1,null]}`, `"volumes":[{"name":"a"}]`)))
	f.Add([]byte(`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null},"spec":{"containers":[null]}}}}`))
	f.Add([]byte(`{"spec":{"template":{"spec":{"containers":[{"image":"a:b@c","env":[{"valueFrom":{"fieldRef":{}}}]}],"hostNetwork":true}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first := Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}})
		if first.Err != nil {
			return
		}
		again, err := Data(first.Written)
		if err != nil {
			t.Fatal(err)
		}
		known := Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: again}})
		if live := FromTemplate(first.Written); !Equal(known, live) {
			t.Fatalf("our data of the template differ from it (%v):\n%s\n%s", known.Err, known.Canonical, live.Canonical)
		}
		if normal := FromTemplate(first.Template); !Equal(known, normal) {
			t.Fatalf("the defaulted template differs from the plain one:\n%s\n%s", known.Canonical, normal.Canonical)
		}
	})
}

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
