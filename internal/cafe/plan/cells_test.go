// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// cells is a small world: a CafeDeployment, its pod sets with their own controllers, and nodes that may be full. It knows as
// little of pods as the plan's reader: a version, whether it is ready, whether it has a node.
type cells struct {
	d         *cafev1alpha1.CafeDeployment
	revisions []revision.Revision
	sets      map[string]*set
	room      map[string]int // how many pods a cell has room for; absent for any number
	now       time.Time
	log       []string
	// meanwhile is called when pods have just been taken away or changed, and nothing is ready again yet.
	meanwhile func()
}

type set struct {
	unit, name, revision string
	asked, partition     int
	unitAsked            int
	seen                 bool
	older                string // what ordinals below the partition are made of
	pods                 []pod
}

type pod struct {
	version string
	ready   bool
	// waiting is since when it finds no node; zero when it has one.
	waiting time.Time
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newCells(replicas int32, units []string, changes ...func(*cafev1alpha1.CafeDeployment)) *cells {
	d := &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web", Generation: 1},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			PodSetType: cafev1alpha1.InPlaceSetPodSetType, Topology: cafev1alpha1.Topology{UnitType: cafev1alpha1.CellUnitType, Values: units},
		},
	}
	c := &cells{d: d, sets: map[string]*set{}, room: map[string]int{}, now: epoch}
	image("v1")(d)
	for _, change := range changes {
		change(d)
	}
	return c
}

type edit = func(*cafev1alpha1.CafeDeployment)

func image(tag string) edit {
	return func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Template = corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.test/app:" + tag}}},
		}
	}
}

func kind(k cafev1alpha1.PodSetType) edit {
	return func(d *cafev1alpha1.CafeDeployment) { d.Spec.PodSetType = k }
}

func beta(batch int32) edit {
	return func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Strategy.UpgradeType = cafev1alpha1.BetaUpgradeType
		by(batch)(d)
	}
}

func by(batch int32) edit {
	return func(d *cafev1alpha1.CafeDeployment) {
		if d.Spec.Strategy.BatchSize = nil; batch > 0 {
			d.Spec.Strategy.BatchSize = ptr.To(batch)
		}
	}
}

func confirmed(d *cafev1alpha1.CafeDeployment) { d.Spec.Strategy.NeedWaitingForConfirm = true }

// stopper is a test, or a try of one.
type stopper interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// kept is a partition; none below 0.
func kept(n int32) edit {
	return func(d *cafev1alpha1.CafeDeployment) {
		if d.Spec.Strategy.Partition = nil; n >= 0 {
			d.Spec.Strategy.Partition = ptr.To(n)
		}
	}
}

func replicas(n int32) edit {
	return func(d *cafev1alpha1.CafeDeployment) { d.Spec.Replicas = ptr.To(n) }
}

func units(values ...string) edit {
	return func(d *cafev1alpha1.CafeDeployment) { d.Spec.Topology.Values = values }
}

func rescheduling(d *cafev1alpha1.CafeDeployment) { d.Spec.Topology.AutoReschedule.Enable = true }

func fixing(unit string, n int32) edit {
	return func(d *cafev1alpha1.CafeDeployment) {
		d.Spec.Topology.UnitReplicas = cafev1alpha1.UnitReplicas{unit: intOf(n)}
	}
}

func (c *cells) versioned() bool {
	return c.d.Spec.PodSetType == cafev1alpha1.ReplicaSetPodSetType
}

func (c *cells) ordinal() bool {
	return c.d.Spec.PodSetType == cafev1alpha1.StatefulSetPodSetType || c.d.Spec.PodSetType == cafev1alpha1.AdvancedStatefulSetPodSetType
}

// imageOf is the tag of a revision's image.
func (c *cells) imageOf(name string) string {
	for _, r := range c.revisions {
		if r.Name == name {
			_, tag, _ := strings.Cut(r.Template.Spec.Containers[0].Image, ":")
			return tag
		}
	}
	return "?"
}

func (c *cells) say(who, format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf("%6s %-8s %s", c.now.Sub(epoch), who, fmt.Sprintf(format, args...)))
}

// edit has a person change the spec.
func (c *cells) edit(says string, changes ...edit) {
	for _, change := range changes {
		change(c.d)
	}
	c.d.Generation++
	c.say("person", "%s", says)
}

// confirm has a person give a confirmation.
func (c *cells) confirm() {
	c.d.Annotations = merged(c.d.Annotations, map[string]*string{cafev1alpha1.AnnotationUpgradeConfirmed: ptr.To("true")})
	c.say("person", "confirms")
}

func merged(into map[string]string, from map[string]*string) map[string]string {
	out := maps.Clone(into)
	if out == nil {
		out = map[string]string{}
	}
	for key, value := range from {
		if value == nil {
			delete(out, key)
			continue
		}
		out[key] = *value
	}
	return out
}

// world is what the plan is shown.
func (c *cells) world() plan.World {
	w := plan.World{Deployment: c.d.DeepCopy(), Live: revision.FromTemplate(&c.d.Spec.Template), Revisions: slices.Clone(c.revisions)}
	byUnit := map[string]*plan.Unit{}
	for _, name := range slices.Sorted(maps.Keys(c.sets)) {
		s := c.sets[name]
		u := byUnit[s.unit]
		if u == nil {
			u = &plan.Unit{Name: s.unit}
			byUnit[s.unit] = u
		}
		shown := plan.Set{Name: s.name, Revision: s.revision, Asked: s.asked, Partition: s.partition, UnitAsked: s.unitAsked, Seen: s.seen}
		for i, p := range s.pods {
			shown.Has++
			u.Pods++
			switch above := s.pods[i+1:]; {
			case p.waiting.IsZero():
			case c.ordinal() && slices.ContainsFunc(above, func(p pod) bool { return p.waiting.IsZero() }):
				u.Below = append(u.Below, p.waiting)
			default:
				u.Unschedulable = append(u.Unschedulable, p.waiting)
			}
			if p.ready {
				shown.Ready++
				shown.Available++
			}
			if c.ordinal() && p.version != s.revision {
				shown.Older = append(shown.Older, i)
			}
			if p.version == s.revision {
				shown.Updated++
				if p.ready {
					shown.UpdatedAvailable++
				}
			}
		}
		for n := len(s.pods); c.ordinal() && n < s.asked; n++ {
			shown.Older = append(shown.Older, n)
		}
		u.Sets = append(u.Sets, shown)
	}
	for _, u := range byUnit { // in any order
		w.Units = append(w.Units, *u)
	}
	return w
}

// crash says how much of a plan is done before the controller is gone.
type crash struct {
	// asks is how many steps and asks are taken, and writes whether the status is written; -1 for all.
	asks   int
	silent bool
}

// look is one pass of the controller.
func (c *cells) look(at crash) plan.Plan {
	next := plan.Next(c.world(), c.now)
	left := at.asks
	may := func() bool {
		if left == 0 {
			return false
		}
		left--
		return true
	}
	annotated := false
	for _, s := range next.Steps {
		if !may() {
			continue
		}
		switch s := s.(type) {
		case step.CreateRevision:
			object := s.Revision.DeepCopy()
			object.UID = "revision"
			c.revisions = append(c.revisions, revision.Decode(object))
		case step.RenumberRevision:
			for i := range c.revisions {
				if c.revisions[i].Name == s.Name {
					object := c.revisions[i].Object.DeepCopy()
					object.Revision = s.Number
					c.revisions[i] = revision.Decode(object)
				}
			}
			revision.Sort(c.revisions)
		case step.ForgetRevision:
			c.revisions = slices.DeleteFunc(c.revisions, func(r revision.Revision) bool { return r.Name == s.Name })
		case step.Annotate:
			c.d.Annotations = merged(c.d.Annotations, s.Annotations)
			annotated = true
			c.say("writes", "%s", c.plain(s.Why()))
		}
	}
	for _, a := range next.Asks {
		if may() {
			c.take(a)
		}
	}
	if next.Annotates && annotated || at.silent {
		return next
	}
	c.d.Status = *next.Status.DeepCopy()
	for _, n := range next.News {
		c.say("tells", "%s: %s", n.Reason, c.plain(n.Note))
	}
	return next
}

// plain names revisions by their images.
func (c *cells) plain(sentence string) string {
	for _, r := range c.revisions {
		sentence = strings.ReplaceAll(sentence, r.Name, c.imageOf(r.Name))
	}
	return sentence
}

// take has a pod set follow what it is asked for.
func (c *cells) take(a plan.Ask) {
	switch {
	case a.Deletes:
		delete(c.sets, a.Set)
		c.say("asks", "%s: deleted: %s", a.Set, a.Why)
		return
	case a.Set == "":
		a.Set = "web-" + strings.ToLower(a.Unit)
		if c.versioned() {
			a.Set += "-" + c.imageOf(a.Revision)
		}
		c.sets[a.Set] = &set{unit: a.Unit, name: a.Set, revision: a.Revision, older: a.Revision}
	}
	s := c.sets[a.Set]
	told := fmt.Sprintf("%s: %d pods", a.Set, a.Replicas)
	if a.GivesTemplate && s.revision != a.Revision {
		s.older, s.revision = s.revision, a.Revision
		told += " of " + c.imageOf(a.Revision)
	}
	if a.Partition > 0 {
		told += fmt.Sprintf(", keeps %d", a.Partition)
	}
	s.asked, s.partition, s.unitAsked, s.seen = a.Replicas, a.Partition, a.UnitReplicas, false
	c.say("asks", "%s: %s", told, c.plain(a.Why))
}

// act has every pod set and node go one step.
func (c *cells) act() {
	for _, name := range slices.Sorted(maps.Keys(c.sets)) {
		s := c.sets[name]
		c.scale(s)
		c.roll(s)
		s.seen = true
	}
	if c.meanwhile != nil {
		c.meanwhile()
	}
	for _, name := range slices.Sorted(maps.Keys(c.sets)) {
		c.run(c.sets[name])
	}
}

func (c *cells) scale(s *set) {
	for len(s.pods) > s.asked {
		at := len(s.pods) - 1
		if !c.ordinal() {
			for i, p := range s.pods {
				if worse(p, s.pods[at], s.revision) {
					at = i
				}
			}
		}
		s.pods = slices.Delete(s.pods, at, at+1)
	}
	for len(s.pods) < s.asked {
		version := s.revision
		if c.ordinal() && len(s.pods) < s.partition {
			version = s.older
		}
		s.pods = append(s.pods, pod{version: version, waiting: c.now})
	}
}

// worse tells which of two pods goes first.
func worse(a, b pod, update string) bool {
	rank := func(p pod) int {
		switch {
		case !p.waiting.IsZero():
			return 0
		case !p.ready:
			return 1
		case p.version != update:
			return 2
		}
		return 3
	}
	return rank(a) < rank(b)
}

// roll updates all that may be, the broken first.
func (c *cells) roll(s *set) {
	if c.ordinal() {
		for i := s.partition; i < len(s.pods); i++ {
			if s.pods[i].version != s.revision {
				s.pods[i] = pod{version: s.revision, waiting: s.pods[i].waiting}
			}
		}
		return
	}
	for {
		old, at := 0, -1
		for i, p := range s.pods {
			if p.version == s.revision {
				continue
			}
			old++
			if at < 0 || worse(p, s.pods[at], s.revision) {
				at = i
			}
		}
		if old <= s.partition {
			return
		}
		s.pods[at] = pod{version: s.revision, waiting: s.pods[at].waiting}
	}
}

// run has pods find a node, and become ready unless they are broken.
func (c *cells) run(s *set) {
	room, limited := c.room[s.unit]
	used := 0
	for _, other := range c.sets {
		for _, p := range other.pods {
			if other.unit == s.unit && p.waiting.IsZero() {
				used++
			}
		}
	}
	for i := range s.pods {
		p := &s.pods[i]
		if !p.waiting.IsZero() {
			if limited && used >= room {
				continue
			}
			p.waiting = time.Time{}
			used++
		}
		p.ready = !strings.Contains(c.imageOf(p.version), "broken")
	}
}

// picture is every cell in a few signs: capital versions are ready, ? has no node.
func (c *cells) picture() string {
	byUnit := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.sets)) {
		s := c.sets[name]
		for _, p := range s.pods {
			sign := c.imageOf(p.version)
			switch {
			case !p.waiting.IsZero():
				sign += "?"
			case !p.ready:
				sign += "~"
			}
			byUnit[s.unit] = append(byUnit[s.unit], sign)
		}
	}
	var told []string
	for _, unit := range slices.Sorted(maps.Keys(byUnit)) {
		counted := map[string]int{}
		for _, sign := range byUnit[unit] {
			counted[sign]++
		}
		var signs []string
		for _, sign := range slices.Sorted(maps.Keys(counted)) {
			signs = append(signs, fmt.Sprintf("%d×%s", counted[sign], sign))
		}
		told = append(told, unit+" "+strings.Join(signs, " "))
	}
	return strings.Join(told, " | ")
}

// settle lets the world go on until nothing changes any more, and returns the last plan.
func (c *cells) settle(t stopper) plan.Plan {
	t.Helper()
	last, until := c.picture(), c.now.Add(12*time.Minute)
	for quiet, n := 0, 0; ; n++ {
		if n > 2000 {
			t.Fatalf("nothing settles:\n%s", strings.Join(c.log[max(0, len(c.log)-40):], "\n"))
		}
		before := len(c.log)
		status := c.d.Status.DeepCopy()
		next := c.look(crash{asks: -1})
		c.act()
		c.now = c.now.Add(time.Second)
		if now := c.picture(); now != last {
			last = now
			c.say("cells", "%s", now)
		}
		if quiet++; len(c.log) != before || !equal(status, &c.d.Status) || len(next.Asks)+len(next.Steps) > 0 {
			quiet = 0
		}
		if quiet > 2 {
			if next.LookAgain > 0 && c.now.Before(until) {
				c.now = c.now.Add(next.LookAgain)
				quiet = 0
				continue
			}
			c.say("phase", "%s%s", c.d.Status.Phase, c.reasons(next))
			return next
		}
	}
}

func (c *cells) reasons(next plan.Plan) string {
	var all []string
	for _, e := range []error{next.Invalid, next.Topology} {
		if e != nil {
			all = append(all, e.Error())
		}
	}
	if next.Confirm != "" {
		all = append(all, next.Confirm)
	}
	all = append(all, next.Full...)
	all = append(all, next.Waits...)
	if len(all) == 0 {
		return ""
	}
	return ": " + c.plain(strings.Join(all, "; "))
}
