// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// numbered are revisions without content.
func numbered(numbers ...int64) []*oamv1beta1.ApplicationRevision {
	var all []*oamv1beta1.ApplicationRevision
	for _, n := range numbers {
		all = append(all, &oamv1beta1.ApplicationRevision{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("shop-v", n)}})
	}
	return all
}

func appNames(revisions []*oamv1beta1.ApplicationRevision) string {
	var all []string
	for _, r := range revisions {
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

// users of the revisions 3 to 9, each in another way.
func users() Users {
	app := shop().Application
	app.Status.LatestRevision = &oamv1beta1.Revision{Name: "shop-v9"}
	app.Status.Rollout = &oamv1beta1.AppRolloutStatus{LastTargetAppRevision: "shop-v8", LastSourceAppRevision: "shop-v7"}
	spec := &oamv1beta1.AppRollout{Spec: oamv1beta1.AppRolloutSpec{TargetAppRevisionName: "shop-v6", SourceAppRevisionName: "shop-v5"}}
	status := &oamv1beta1.AppRollout{Status: oamv1beta1.AppRolloutStatus{LastTargetAppRevision: "shop-v4"}}
	return Users{Application: app, Rollouts: []*oamv1beta1.AppRollout{spec, status},
		Deployed: []map[string]string{nil, {oamv1beta1.LabelAppRevision: "shop-v3", oamv1beta1.LabelComponentRevision: "web-v2"}}}
}

func TestWhatIsForgotten(t *testing.T) {
	deleted := numbered(1)
	now := metav1.Unix(1, 0)
	deleted[0].DeletionTimestamp = &now
	source := Users{Application: shop().Application,
		Rollouts: []*oamv1beta1.AppRollout{{Status: oamv1beta1.AppRolloutStatus{LastSourceAppRevision: "shop-v1"}}}}
	for sentence, test := range map[string]struct {
		own   []*oamv1beta1.ApplicationRevision
		users Users
		limit int
		want  string
	}{
		"nothing within the limit":                        {numbered(1, 2, 3), Users{Application: shop().Application}, 2, ""},
		"the oldest, whatever their order":                {numbered(10, 2, 9, 1), Users{Application: shop().Application}, 1, "shop-v1 shop-v2"},
		"all but the latest without a history":            {numbered(1, 2, 3), Users{Application: shop().Application}, 0, "shop-v1 shop-v2"},
		"no less than without a history":                  {numbered(1, 2, 3), Users{Application: shop().Application}, -4, "shop-v1 shop-v2"},
		"none that is in use":                             {numbered(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), users(), 0, "shop-v1 shop-v2"},
		"those in use do not count":                       {numbered(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), users(), 1, "shop-v1"},
		"the latest is not always the newest, both stay":  {numbered(1, 9, 10), users(), 0, "shop-v1"},
		"what is being deleted does not count":            {append(deleted, numbered(2, 3, 4)...), Users{Application: shop().Application}, 2, ""},
		"the source that a rollout has had":               {numbered(1, 2, 3), source, 0, "shop-v2"},
		"a single one is the latest":                      {numbered(4), Users{Application: shop().Application}, 0, ""},
		"nothing of nothing":                              {nil, Users{Application: shop().Application}, 0, ""},
		"revisions of other applications do not matter":   {numbered(1, 2), Users{Application: shop().Application, Deployed: []map[string]string{{oamv1beta1.LabelAppRevision: "other-v1"}}}, 0, "shop-v1"},
		"an object without labels is not a user of \"\" ": {numbered(1, 2), Users{Application: shop().Application, Deployed: []map[string]string{{}}}, 0, "shop-v1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := appNames(Expired("shop", test.own, test.users.Used(), test.limit))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichComponentRevisionsAreForgotten(t *testing.T) {
	component := func(name string, number int64) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{Revision: number, ObjectMeta: metav1.ObjectMeta{Name: Name(name, number), Labels: map[string]string{oamv1beta1.LabelComponent: name}}}
	}
	gone := component("web", 1)
	now := metav1.Unix(1, 0)
	gone.DeletionTimestamp = &now
	all := []*appsv1.ControllerRevision{component("web", 4), component("web", 3), component("web", 2), component("web", 1), component("jobs", 1), component("old", 2), component("old", 1)}
	holding := numbered(1)
	holding[0].Spec.ComponentRevisions = []oamv1beta1.ComponentRevision{{Name: "web", Revision: "web-v3"}, {Name: "old", Revision: "old-v1"}}
	for sentence, test := range map[string]struct {
		stored []*appsv1.ControllerRevision
		own    []*oamv1beta1.ApplicationRevision
		users  Users
		want   string
	}{
		"those that nothing needs":                         {all, nil, Users{Application: shop().Application}, "old-v1 old-v2 web-v1 web-v2 web-v3"},
		"none that a revision has, and none that runs":     {all, holding, users(), "old-v2 web-v1"},
		"nothing that is being deleted":                    {[]*appsv1.ControllerRevision{component("web", 2), gone}, nil, Users{Application: shop().Application}, ""},
		"the newest of each component of the application ": {all[:1], nil, Users{Application: shop().Application}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, r := range ExpiredComponents(test.users.Application, test.stored, test.own, test.users.Used()) {
				got = append(got, r.Name)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
