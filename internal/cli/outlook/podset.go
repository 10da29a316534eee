// SPDX-License-Identifier: Apache-2.0

package outlook

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/project"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// pace is how long nodes take for what they are asked for.
const pace = time.Second

// podset is a set of pods whose controller brings them to its template one after the other, in the order of its kind.
type podset struct {
	*play
	w        *workload
	template *corev1.PodTemplateSpec
	// asked says how pods are judged, and how each is updated.
	asked *member.Set
	// size is how many pods there are to be. names are those of its pods, by position; nil where they are made up.
	size  int
	names []string
	// old tells of a pod that is made new, by its position, that it is of the revision of before.
	old func(position int) bool
	// turn are those of the pods behind that are to be updated, first in front.
	turn func(behind []*corev1.Pod) []*corev1.Pod
	// atOnce is how many may be unavailable while they are updated.
	atOnce int
	// fields are the fields of the status that its counts stand in.
	fields func(counts) map[string]any

	pods            []*corev1.Pod
	update, current revision.Revision
	moments         []project.Moment
	// failing are images that do not start now, each with the reason. kept are pods that can only be left as they are.
	failing map[string]string
	kept    map[string]bool
}

// ofPodSet follows a kind of pod set.
func ofPodSet(shape func(*play, *workload) (*podset, error)) follower {
	return func(p *play, w *workload) ([]project.Moment, error) {
		s, err := shape(p, w)
		if err != nil {
			return nil, err
		}
		s.play, s.w, s.pods, s.kept = p, w, p.podsOf(w.object), map[string]bool{}
		s.pods = slices.DeleteFunc(s.pods, func(c *corev1.Pod) bool { return !pod.IsActive(c) })
		if err := s.record(); err != nil {
			return nil, err
		}
		s.noteFailing()
		s.settle()
		s.replace()
		s.resize()
		s.compare()
		for passes := 2 * len(s.pods); passes > 0 && s.step(); passes-- {
		}
		p.setPods(w.object, s.pods)
		return s.moments, s.report()
	}
}

// record finds the revision of the template, as the controller of the set does.
func (s *podset) record() error {
	id := s.w.object.GroupVersionKind()
	var own []revision.Revision
	for _, r := range s.revisions {
		if pod.IsControlledBy(r, s.w.object.GetUID()) {
			own = append(own, revision.Decode(r))
		}
	}
	entry := revision.Books{
		Owner: s.w.object, Reference: *metav1.NewControllerRef(s.w.object, id), Live: revision.FromTemplate(s.template), Own: own,
		Current: statusText(s.w.object, "currentRevision"),
	}.Record()
	if entry.Err != nil {
		return entry.Err
	}
	for _, written := range entry.Steps {
		switch written := written.(type) {
		case step.CreateRevision:
			made := written.Revision.DeepCopy()
			own = append(own, revision.Decode(made))
			s.moment([]project.Action{{Object: made.Name, Verb: project.RecordRevision, Why: written.Why()}}, 0)
		case step.RenumberRevision:
			at := slices.IndexFunc(own, func(r revision.Revision) bool { return r.Name == written.Name })
			again := own[at].Object.DeepCopy()
			again.Revision = written.Number
			own[at] = revision.Decode(again)
		}
	}
	revision.Sort(own)
	s.setRevisions(s.w, own)
	s.update, s.current = entry.Update, entry.Current
	s.asked.Update, s.asked.History, s.asked.ResizeOff = s.update, own, s.asked.ResizeOff || s.ResizeOff
	return nil
}

// replace makes the pods anew that the rollout itself has deleted.
func (s *podset) replace() {
	if gone := s.w.recreated; len(gone) > 0 {
		during := s.count()
		for range gone {
			s.pods = append(s.pods, s.make(s.free(), false))
		}
		s.tell(gone, during)
	}
}

// free is the name of a pod that is missing, or one that is made up.
func (s *podset) free() string {
	for _, name := range s.names {
		if s.find(name) < 0 {
			return name
		}
	}
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%s-new%d", s.w.object.GetName(), n); s.find(name) < 0 {
			return name
		}
	}
}

func (s *podset) find(name string) int {
	return slices.IndexFunc(s.pods, func(c *corev1.Pod) bool { return c.Name == name })
}

// resize makes the pods that are missing, and deletes those that are too many.
func (s *podset) resize() {
	var actions []project.Action
	for _, c := range s.surplus() {
		actions = append(actions, project.Action{Object: c.Name, Verb: project.Delete, From: pod.RevisionHash(c), Why: fmt.Sprintf("%d pods are wanted", s.size)})
		s.pods = slices.DeleteFunc(s.pods, func(other *corev1.Pod) bool { return other == c })
	}
	if len(actions) > 0 {
		s.moment(actions, 0)
	}
	actions = nil
	during := s.count()
	for missing := s.size - len(s.pods); missing > 0; missing-- {
		name := s.free()
		made := s.make(name, s.old != nil && s.old(slices.Index(s.names, name)))
		s.pods = append(s.pods, made)
		actions = append(actions, project.Action{Object: name, Verb: project.Create, To: pod.RevisionHash(made), Why: fmt.Sprintf("%d pods are wanted", s.size)})
	}
	if len(actions) > 0 {
		s.tell(actions, during)
	}
}

// surplus are the pods that are too many, first in front.
func (s *podset) surplus() []*corev1.Pod {
	if s.names == nil {
		return pod.VictimOrder(s.pods, pod.Ranking{})[:max(len(s.pods)-s.size, 0)]
	}
	var over []*corev1.Pod
	for _, c := range s.pods {
		if !slices.Contains(s.names, c.Name) {
			over = append(over, c)
		}
	}
	return over
}

// step updates the next pods. It returns false when none is left, or none may be.
func (s *podset) step() bool {
	if s.turn == nil {
		return false
	}
	s.asked.Now = s.now
	var behind []*corev1.Pod
	down := 0
	for _, c := range s.pods {
		if !pod.HasRevision(c, s.update.Name) && !s.kept[c.Name] {
			behind = append(behind, c)
		}
		if !s.asked.Judge(c).Available {
			down++
		}
	}
	due := s.turn(behind)
	var actions []project.Action
	out := 0
	for _, c := range due[:min(len(due), max(s.atOnce-down, 0))] {
		before := pod.RevisionHash(c)
		v := s.asked.UpdateOf(s.asked.Judge(c))
		a := project.Action{Object: c.Name, From: before, To: s.update.Hash}
		switch written := v.Step.(type) {
		case step.DeletePod:
			a.Verb, a.Why = project.Recreate, written.Why()
			out++
			s.pods[s.find(c.Name)] = s.make(c.Name, false)
		case step.UpdateInPlace:
			a.Verb, a.Why = project.InPlace, written.Why()
			if len(written.Drain) > 0 {
				out++
			}
			s.change(c)
		case step.PatchPod:
			a.Verb, a.Why = project.Label, written.Why()
			s.change(c)
		default:
			s.kept[c.Name] = true
			for _, why := range v.Refused {
				s.story.Left = appendOnce(s.story.Left, why)
			}
			continue
		}
		actions = append(actions, a)
	}
	if len(actions) == 0 {
		return len(due) > 0 && s.kept[due[0].Name]
	}
	s.moment(actions, out)
	return true
}

// moment tells what happens now, while so many pods that are there are unavailable.
func (s *podset) moment(actions []project.Action, out int) {
	during := s.count()
	during.Available -= out
	s.tell(actions, during)
}

// tell adds a moment, and lets the time pass until its pods are available.
func (s *podset) tell(actions []project.Action, during project.Count) {
	m := project.Moment{Actions: actions, During: during}
	least := time.Duration(s.asked.MinReadySeconds) * time.Second
	if n := len(s.moments); n > 0 && least > 0 {
		m.Waited = least
	}
	s.now = s.now.Add(pace + least)
	m.After = s.count()
	s.moments = append(s.moments, m)
}

func (s *podset) count() project.Count {
	s.asked.Now = s.now
	c := countsOf(s.asked, s.pods, s.update.Name)
	return project.Count{Available: c.available, Total: c.pods}
}

// compare names what changes between the revisions of living pods and the one of the template.
func (s *podset) compare() {
	var found []project.Change
	for _, c := range s.pods {
		hash := pod.RevisionHash(c)
		if pod.HasRevision(c, s.update.Name) {
			continue
		}
		if at := slices.IndexFunc(found, func(change project.Change) bool { return change.From == hash }); at >= 0 {
			found[at].Pods++
			continue
		}
		change := project.Change{From: hash, Pods: 1, Forces: []string{fmt.Sprintf("revision %q is not in the history any more, so nobody knows what changes", hash)}}
		for _, r := range s.asked.History {
			if r.Hash == hash && r.Err == nil {
				d := inplace.Compare(r.Template, s.update.Template)
				if s.asked.ResizeOff {
					d = d.WithoutResize()
				}
				change.InPlace, change.What, change.Forces = d.Possible(), d.String(), d.Refusals
			}
		}
		found = append(found, change)
	}
	if s.asked.Policy != member.Recreate { // else nothing is kept, whatever changes
		s.changes(found)
	}
}

// report is the status that the controller of the set would write.
func (s *podset) report() error {
	s.asked.Now = s.now
	c := countsOf(s.asked, s.pods, s.update.Name)
	fields := s.fields(c)
	current := s.current.Name
	if c.updated == s.size && c.pods == s.size {
		current = s.update.Name
	}
	fields["observedGeneration"], fields["updateRevision"], fields["currentRevision"] = s.w.object.GetGeneration(), s.update.Name, current
	return report(s.w.object, fields)
}

// counts are of the active pods of a set.
type counts struct{ pods, ready, available, updated, updatedReady, updatedAvailable int }

func countsOf(asked *member.Set, pods []*corev1.Pod, updateRevision string) counts {
	var n counts
	for _, c := range pods {
		if !pod.IsActive(c) {
			continue
		}
		m := asked.Judge(c)
		on := pod.HasRevision(c, updateRevision)
		n.pods++
		n.ready, n.updatedReady = n.ready+one(m.Ready), n.updatedReady+one(m.Ready && on)
		n.available, n.updatedAvailable = n.available+one(m.Available), n.updatedAvailable+one(m.Available && on)
		n.updated += one(on)
	}
	return n
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// fields are those of most kinds.
func (n counts) fields() map[string]any {
	return map[string]any{
		"replicas": n.pods, "readyReplicas": n.ready, "availableReplicas": n.available,
		"updatedReplicas": n.updated, "updatedReadyReplicas": n.updatedReady, "updatedAvailableReplicas": n.updatedAvailable,
	}
}

// nodes: every pod gets one, and each starts what it is given, but for images that fail elsewhere.

// noteFailing remembers images that containers cannot start now.
func (s *podset) noteFailing() {
	s.failing = map[string]string{}
	for _, c := range s.pods {
		for _, status := range c.Status.ContainerStatuses {
			if waiting := status.State.Waiting; waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
				s.failing[imageOf(c, status.Name)] = waiting.Reason
				s.assume(fmt.Sprintf("image %s does not start now (%s on pod %s): it is taken to fail everywhere", imageOf(c, status.Name), waiting.Reason, c.Name))
			}
		}
	}
}

func imageOf(c *corev1.Pod, container string) string {
	for i := range c.Spec.Containers {
		if c.Spec.Containers[i].Name == container {
			return c.Spec.Containers[i].Image
		}
	}
	return ""
}

// settle has pods become ready that only wait for their nodes.
func (s *podset) settle() {
	n := 0
	for i, c := range s.pods {
		if s.asked.Judge(c).Ready {
			continue
		}
		again := c.DeepCopy()
		s.start(again)
		if s.pods[i] = again; pod.IsReady(again) {
			n++
		}
	}
	if n > 0 {
		s.assume(step.Counted(n, "pod is not available now: it is taken to become so by itself", "pods are not available now: they are taken to become so by themselves"))
	}
}

// make is a new pod.
func (s *podset) make(name string, old bool) *corev1.Pod {
	of := s.update
	if old && s.current.Template != nil {
		of = s.current
	}
	s.serial++
	made := &corev1.Pod{ObjectMeta: *of.Template.ObjectMeta.DeepCopy(), Spec: *of.Template.Spec.DeepCopy()}
	made.Namespace, made.Name, made.UID, made.Generation = s.w.object.GetNamespace(), name, plannedUID(podKind, fmt.Sprint(name, "-", s.serial)), 1
	made.CreationTimestamp = metav1.NewTime(s.now)
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s.w.object, s.w.object.GroupVersionKind())}
	mark(made, of.Name)
	made.Spec.NodeName = "a node for " + name
	s.start(made)
	return made
}

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// change has a living pod become one of the template.
func (s *podset) change(c *corev1.Pod) {
	changed := c.DeepCopy()
	images := map[string]string{}
	for _, container := range s.update.Template.Spec.Containers {
		images[container.Name] = container.Image
	}
	for i := range changed.Spec.Containers {
		if image := images[changed.Spec.Containers[i].Name]; image != "" {
			changed.Spec.Containers[i].Image = image
		}
	}
	mark(changed, s.update.Name)
	s.start(changed)
	s.pods[s.find(c.Name)] = changed
}

func mark(c *corev1.Pod, name string) {
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	c.Labels[kruisev1alpha1.LabelRevision] = revision.LabelValue(name)
}

// start has a node run a pod, if its images start.
func (s *podset) start(c *corev1.Pod) {
	status := corev1.ConditionTrue
	c.Status.Phase, c.Status.ContainerStatuses = corev1.PodRunning, nil
	for _, container := range c.Spec.Containers {
		run := corev1.ContainerStatus{Name: container.Name, Image: container.Image, Ready: true, Started: ptr.To(true)}
		run.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.now)}
		if why := s.failing[container.Image]; why != "" {
			run.State, run.Ready, status = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why}}, false, corev1.ConditionFalse
		}
		c.Status.ContainerStatuses = append(c.Status.ContainerStatuses, run)
	}
	conditions := []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady}
	for _, gate := range c.Spec.ReadinessGates {
		conditions = append(conditions, gate.ConditionType)
	}
	c.Status.Conditions = nil
	for _, kind := range conditions {
		now := corev1.ConditionTrue
		if kind == corev1.ContainersReady || kind == corev1.PodReady {
			now = status
		}
		c.Status.Conditions = append(c.Status.Conditions, corev1.PodCondition{Type: kind, Status: now, LastTransitionTime: metav1.NewTime(s.now)})
	}
}
