// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/kube"
	"slipway.dev/slipway/test/simulation/world"
)

// gentle is the theme of stories without broken versions, misfortunes and full cells: in them, no unit may lose more pods than its group.
const gentle world.Theme = "gentle people"

// crowded is the theme of stories in which cells have little room from the beginning, and quota moves.
const crowded world.Theme = "crowded cells"

var themes = []world.Theme{world.Anything, crowded, gentle}

// simulation is one random story of one or two CafeDeployments.
type simulation struct {
	*world.Story
	cells *cells
	kube  *kube.Controllers
	judge *judge
	names []string // of the deployments
	// patient: nobody confirms anything by themselves.
	patient bool
	crowded bool      // the cells have little room since the storm has begun
	begun   time.Time // of the end
}

var _ world.Users = &simulation{}

// Run plays the story of a seed. It returns the first violation, with what had happened at that point; nil if there is none.
func Run(seed uint64, hooks Hooks, tell func(format string, args ...any)) error {
	return play(seed, "", hooks, tell)
}

// play plays the story of a seed on a theme; without one, the seed has its own.
func play(seed uint64, theme world.Theme, hooks Hooks, tell func(format string, args ...any)) error {
	s := &simulation{Story: world.NewStory(seed, theme, themes, kind{hooks}, tell)}
	s.kube = &kube.Controllers{World: s.World}
	s.Wakes = s.kube.Wakes
	s.judge = s.Bench.(*judge)
	s.cells = newCells(s.World, allUnits...)
	return s.Play(s)
}

var allUnits = []string{"A", "B", "C", "D"}

var podSetTypes = []cafev1alpha1.PodSetType{
	cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.CloneSetPodSetType, cafev1alpha1.AdvancedStatefulSetPodSetType,
	cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType,
}

// newDeployment is a deployment as a client that sets no defaults sends it.
func newDeployment(name string, replicas int32, podSets cafev1alpha1.PodSetType, r world.Release, units ...string) *cafev1alpha1.CafeDeployment {
	d := &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: world.Namespace, Name: name},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: &replicas, PodSetType: podSets, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{world.LabelApp: name}},
			Topology: cafev1alpha1.Topology{UnitType: cafev1alpha1.CellUnitType, Values: units},
		},
	}
	release(d, r)
	return d
}

// release makes a release the wanted one.
func release(d *cafev1alpha1.CafeDeployment, r world.Release) {
	d.Spec.Template = r.Template()
	d.Spec.Template.Labels[world.LabelApp] = d.Name
}

// Begin creates the deployments that the story begins with.
func (s *simulation) Begin() {
	s.judge.gentle = s.About(gentle)
	s.Releases = []world.Release{{App: "v1"}}
	s.names = []string{world.SetName}
	if s.Random.IntN(3) == 0 {
		s.names = append(s.names, "shop")
	}
	if s.judge.gentle {
		s.Misfortunes = 0
	}
	s.patient = s.Random.IntN(4) == 0
	for _, name := range s.names {
		d := newDeployment(name, int32(s.Random.IntN(11)), podSetTypes[s.Random.IntN(len(podSetTypes))], s.Releases[0], s.someUnits()...)
		if s.Random.IntN(12) == 0 {
			d.Spec.Topology = cafev1alpha1.Topology{UnitType: cafev1alpha1.NoneUnitType}
		}
		strategy := &d.Spec.Strategy
		if s.Random.IntN(2) == 0 {
			strategy.UpgradeType = cafev1alpha1.BetaUpgradeType
		}
		strategy.BatchSize = s.someBatch()
		strategy.NeedWaitingForConfirm = s.Random.IntN(2) == 0
		strategy.MinReadySeconds = int32([]int{0, 0, 0, 3}[s.Random.IntN(4)])
		d.Spec.Topology.AutoReschedule.Enable = s.Random.IntN(2) == 0
		if s.About(crowded) {
			d.Spec.Topology.AutoReschedule.Enable, d.Spec.Topology.UnitType = true, cafev1alpha1.CellUnitType
			d.Spec.Topology.Values, d.Spec.Replicas = s.someUnits(), ptr.To(int32(3+s.Random.IntN(8)))
		}
		s.Create(d)
	}
}

// crowd leaves all cells little room.
func (s *simulation) crowd() {
	s.crowded, s.Weights.Time = true, 4
	for _, cell := range allUnits {
		s.cells.room[cell] = s.Random.IntN(6)
	}
	s.Tell("cells: room for %v", s.cells.room)
}

func (s *simulation) someUnits() []string {
	units := slices.Clone(allUnits)
	s.Random.Shuffle(len(units), func(i, k int) { units[i], units[k] = units[k], units[i] })
	return units[:2+s.Random.IntN(3)]
}

func (s *simulation) someBatch() *int32 {
	if n := s.Random.IntN(6); n > 0 {
		return ptr.To(int32(n))
	}
	return nil
}

// all are the deployments as they are stored.
func (s *simulation) all() []*cafev1alpha1.CafeDeployment {
	var all []*cafev1alpha1.CafeDeployment
	for _, o := range s.Server.List(api.CafeDeployments) {
		all = append(all, typed(o))
	}
	return all
}

// edit changes a deployment, as a person does.
func (s *simulation) edit(d *cafev1alpha1.CafeDeployment, change func(*cafev1alpha1.CafeDeployment)) {
	stored, err := s.Server.Modify("user", api.CafeDeployments, client.ObjectKeyFromObject(d), api.Main, func(o client.Object) { change(typed(o)) })
	s.Must(stored, err)
	s.Tell("user: now wants %s", describe(typed(stored)))
}

// EditOnce is one edit of many.
func (s *simulation) EditOnce() {
	s.Edits--
	all := s.all()
	s.edit(all[s.Random.IntN(len(all))], s.randomEdit)
}

// randomEdit is one thing that a person may do to a deployment at any time.
func (s *simulation) randomEdit(d *cafev1alpha1.CafeDeployment) {
	strategy, topology, r := &d.Spec.Strategy, &d.Spec.Topology, s.Random
	switch n := r.IntN(24); {
	case n < 6:
		s.newTemplate(d)
	case n < 7 && !s.judge.gentle:
		next := wanted(d)
		next.App = fmt.Sprintf("v%d-%s", len(s.Releases)+1, []string{"broken", "crash", "missing"}[r.IntN(3)])
		s.roll(d, next)
	case n < 9:
		s.roll(d, s.Releases[r.IntN(len(s.Releases))])
	case n < 12:
		d.Spec.Replicas = ptr.To(int32(r.IntN(12)))
	case n < 15:
		if topology.UnitType != cafev1alpha1.NoneUnitType {
			topology.Values, topology.UnitReplicas = s.otherUnits(topology.Values), nil
		}
	case n < 17:
		s.fix(d)
	case n < 18:
		strategy.Pause = !strategy.Pause
	case n < 19:
		strategy.NeedWaitingForConfirm = !strategy.NeedWaitingForConfirm
	case n < 21:
		strategy.BatchSize = s.someBatch()
	case n < 22:
		topology.AutoReschedule.Enable = !topology.AutoReschedule.Enable
	case n < 23:
		strategy.MinReadySeconds = int32([]int{0, 3, 10}[r.IntN(3)])
	default:
		strategy.UpgradeType = []cafev1alpha1.UpgradeType{cafev1alpha1.BetaUpgradeType, cafev1alpha1.BatchUpgradeType}[r.IntN(2)]
	}
}

func (s *simulation) newTemplate(d *cafev1alpha1.CafeDeployment) {
	next, version := wanted(d), fmt.Sprintf("v%d", len(s.Releases)+1)
	switch s.Random.IntN(6) {
	case 0:
		next.Env = version
	case 1:
		next.Label = version
	case 2:
		next.App = version + fmt.Sprintf("-slow-%ds", 1+s.Random.IntN(20))
	default:
		next.App = version
	}
	s.roll(d, next)
}

func (s *simulation) roll(d *cafev1alpha1.CafeDeployment, r world.Release) {
	s.Releases = append(s.Releases, r)
	release(d, r)
}

// otherUnits adds a unit or removes one.
func (s *simulation) otherUnits(units []string) []string {
	missing := slices.DeleteFunc(slices.Clone(allUnits), func(u string) bool { return slices.Contains(units, u) })
	if len(missing) > 0 && (len(units) < 2 || s.Random.IntN(2) == 0) {
		return append(slices.Clone(units), missing[s.Random.IntN(len(missing))])
	}
	return slices.Delete(slices.Clone(units), 0, 1)
}

// fix gives some units a number of their own, which may not add up.
func (s *simulation) fix(d *cafev1alpha1.CafeDeployment) {
	units := d.Spec.Topology.Values
	d.Spec.Topology.UnitReplicas = nil
	if len(units) == 0 || s.Random.IntN(3) == 0 {
		return
	}
	d.Spec.Topology.UnitReplicas = cafev1alpha1.UnitReplicas{}
	for range 1 + s.Random.IntN(2) {
		n := intstr.FromInt32(int32(s.Random.IntN(5)))
		if s.Random.IntN(2) == 0 {
			n = *world.Percent(10 * s.Random.IntN(6))
		}
		d.Spec.Topology.UnitReplicas[units[s.Random.IntN(len(units))]] = n
	}
}

// DisturbPod is one misfortune of a pod.
func (s *simulation) DisturbPod(pod *corev1.Pod) { s.LosePod(pod) }

// Chores are what goes on besides: people who confirm, cells that become full, and the controllers of Kubernetes.
func (s *simulation) Chores(add func(weight int, do func())) {
	if s.About(crowded) && !s.Calm && !s.crowded {
		s.crowd()
	}
	if act := s.kube.Step(); act != nil {
		add(s.Weights.Reconcile, act)
	}
	for _, d := range s.all() {
		switch answer, asked := d.Annotations[confirmed]; {
		case answer == "false" && !s.patient:
			add(map[bool]int{true: 10, false: 2}[s.Calm], func() { s.confirm(d, "confirms") })
		case !s.Calm && !asked && s.Edits > 0:
			add(1, func() {
				s.Edits--
				s.confirm(d, "confirms although nobody asks")
			})
		}
	}
	if !s.Calm && !s.judge.gentle {
		add(s.Weights.Time, s.rebuild)
	}
}

func (s *simulation) confirm(d *cafev1alpha1.CafeDeployment, says string) {
	s.Must(s.Server.Modify("user", api.CafeDeployments, client.ObjectKeyFromObject(d), api.Main, func(o client.Object) {
		o.SetAnnotations(world.Merged(o.GetAnnotations(), confirmed, "true"))
	}))
	s.Tell("user: %s %s", says, d.Name)
}

// rebuild gives a cell more room or less, rarely.
func (s *simulation) rebuild() {
	if s.Random.IntN(6) > 0 {
		return
	}
	cell := allUnits[s.Random.IntN(len(allUnits))]
	if s.Random.IntN(2) == 0 {
		delete(s.cells.room, cell)
		s.Tell("cells: %s has room for any number", cell)
		return
	}
	s.cells.room[cell] = s.Random.IntN(4)
	s.Tell("cells: %s has room for %d", cell, s.cells.room[cell])
}

// Overtake begins a release.
func (s *simulation) Overtake() {
	for _, d := range s.all() {
		s.edit(d, func(d *cafev1alpha1.CafeDeployment) {
			next := wanted(d)
			next.App = "overtaken"
			s.roll(d, next)
			d.Spec.Strategy.Pause = false
		})
	}
}

// LastEdit asks for something that can be reached, and gives all cells room.
func (s *simulation) LastEdit() {
	clear(s.cells.room)
	s.patient, s.begun = false, s.Clock.Now()
	for _, d := range s.all() {
		s.edit(d, func(d *cafev1alpha1.CafeDeployment) {
			next := wanted(d)
			switch {
			case s.Random.IntN(4) == 0:
				next = s.Releases[0] // back to where it began
			case !next.Healthy() || s.Random.IntN(2) == 0:
				next.App = "final"
			}
			s.roll(d, next)
			d.Spec.Strategy.Pause = false
			if _, adds := shares(d); !adds {
				d.Spec.Topology.UnitReplicas = nil
			}
		})
	}
}
