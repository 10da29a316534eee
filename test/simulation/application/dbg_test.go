package application
import ("testing";"fmt";"os";"strconv";"sigs.k8s.io/yaml";"slipway.dev/slipway/test/simulation/api";"slipway.dev/slipway/test/simulation/world";oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1")
func TestDebug(t *testing.T) {
	seed,_ := strconv.Atoi(os.Getenv("SEED"))
	k := &kind{}
	_ = k
	debugWorld = nil
	err := Run(uint64(seed), Hooks{}, nil)
	fmt.Println(err)
	w := debugWorld
	for _, e := range w.Server.Log() {
		switch o := e.After.(type) {
		case *oamv1beta1.AppRollout:
			if e.Verb == api.Create || e.Subresource == api.Main { fmt.Printf("%d %s %s SPEC %s fin=%v del=%v\n", e.Version, e.Actor, o.Name, asks(&o.Spec), o.Finalizers, o.DeletionTimestamp!=nil) } else {
				src, tgt := "", ""
				if r := o.Status.Running; r != nil { tgt = r.TargetRef.Name+"@"+r.TargetAppRevision; if r.SourceRef != nil { src = r.SourceRef.Name}; src += "@"+r.SourceAppRevision }
				fmt.Printf("%d %s %s STATUS %s run %d [%s <- %s] %s | %s\n", e.Version, e.Actor, o.Name, stateOf(o), o.Status.Run, tgt, src, o.Status.WaitingFor, o.Status.Message) }
		default:
			if isWorkload(o) && e.Subresource == api.Main {
				x := workloadOf(o); fmt.Printf("%d %s %s %s: rev %s apprev %s app %s replicas %d kept %d held %v ctrl %s\n", e.Version, e.Actor, e.Verb, o.GetName(), x.revision, x.appRevision, x.app, x.replicas, x.kept, x.held, x.controller)
			}
			if e.Kind == api.Services || e.Kind == api.Autoscalers { fmt.Printf("%d %s %s %s %s of %s\n", e.Version, e.Actor, e.Verb, e.Kind, o.GetName(), o.GetLabels()[oamv1beta1.LabelAppRevision]) }
			if e.Kind == api.ApplicationRevisions { fmt.Printf("%d %s %s %s\n", e.Version, e.Actor, e.Verb, o.GetName()) }
			if a, is := o.(*oamv1beta1.Application); is { fmt.Printf("%d %s %s APP gen %d phase %s %s: %s\n", e.Version, e.Actor, e.Verb, a.Generation, a.Status.Phase, fmt.Sprint(a.Status.LatestRevision), describe(a)) }
		}
	}
	if os.Getenv("Y") != "" { for _, o := range w.Server.List(api.AppRollouts) { b,_ := yaml.Marshal(o); fmt.Println(string(b)) } }
}
var _ = world.SetName
