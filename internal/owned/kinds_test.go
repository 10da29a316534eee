// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// shown is a cache of metadata. It fails a list that would have to wait, and one without the index.
type shown struct {
	cache.Cache
	cache.Informer
	synced  bool
	indexed int
	has     map[schema.GroupVersionKind][]metav1.PartialObjectMetadata
}

func (s *shown) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	s.indexed++
	return nil
}

func (s *shown) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return s, nil
}

func (s *shown) HasSynced() bool { return s.synced }

func (s *shown) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if !s.synced || s.indexed == 0 {
		return errors.New("this would wait for ever")
	}
	asked := &client.ListOptions{}
	asked.ApplyOptions(options)
	owner, _ := asked.FieldSelector.RequiresExactMatch(OwnerIndex)
	into := list.(*metav1.PartialObjectMetadataList)
	kind := into.GroupVersionKind()
	into.Items = slices.Clone(s.has[kind.GroupVersion().WithKind(kind.Kind[:len(kind.Kind)-len("List")])])
	into.Items = slices.DeleteFunc(into.Items, func(o metav1.PartialObjectMetadata) bool {
		return o.Namespace != asked.Namespace || !slices.Contains(OwnerOf(&o), owner)
	})
	return nil
}

type watching struct{ controller.Controller }

func (watching) Watch(source.Source) error { return nil }

func TestVersionsOfWhatIsOwnedComeFromWhatIsShown(t *testing.T) {
	service, route := schema.GroupVersionKind{Version: "v1", Kind: "Service"}, schema.GroupVersionKind{Group: "net", Version: "v2", Kind: "Route"}
	object := func(namespace, name, owner, version string) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, ResourceVersion: version, OwnerReferences: []metav1.OwnerReference{{UID: "app", Controller: ptr.To(owner == "app")}},
		}}
	}
	s := &shown{has: map[schema.GroupVersionKind][]metav1.PartialObjectMetadata{
		service: {object("web", "a", "app", "1"), object("web", "b", "other", "2"), object("else", "c", "app", "3")}, route: {object("web", "a", "app", "4")},
	}}
	owner := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop", UID: "app"}}
	k := WatchedBy(schema.GroupKind{Group: "test", Kind: "App"})
	look := func(want map[Ref]string, shown bool) {
		t.Helper()
		for range 2 { // an index cannot be added twice
			got, is, err := k.Versions(t.Context(), owner, []schema.GroupVersionKind{service, route})
			if err != nil || is != shown {
				t.Fatalf("shown: %v, %v", is, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		}
	}
	look(nil, false) // before there is a manager
	k.Begin(s, watching{})
	if err := k.Watch(service); err != nil {
		t.Fatal(err)
	}
	look(nil, false) // only one of the kinds is watched, and is not filled
	if err := k.Watch(route); err != nil {
		t.Fatal(err)
	}
	look(nil, false)
	s.synced = true
	look(map[Ref]string{{service.GroupKind(), "a"}: "1", {route.GroupKind(), "a"}: "4"}, true)
	if s.indexed != 2 {
		t.Errorf("%d indexes were added for 2 kinds", s.indexed)
	}
}
