// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

const (
	shop        = "shop"
	imageOfShop = "registry.test/app:v1"
	// otherHash is one that Slipway would not compute.
	otherHash = "6d5f7c9b8"
)

// openKruise fills a cluster as OpenKruise leaves it: a set of each kind at rest in the namespace shop, and itself, not answering.
func openKruise(t *testing.T, c client.Client) {
	t.Helper()
	create := func(o client.Object) {
		t.Helper()
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
	for _, name := range []string{shop, "kruise-system"} {
		create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	web := &kruisev1alpha1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "web"}, Spec: kruisev1alpha1.CloneSetSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: label("web")}, Template: template("web"),
		UpdateStrategy: kruisev1alpha1.CloneSetUpdateStrategy{Type: kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType},
	}}
	create(web)
	owner := metav1.NewControllerRef(web, kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind))
	children(t, c, owner, []string{"web-2bcdf", "web-4ghjk"}, func(p *corev1.Pod) {
		p.Labels[kruisev1alpha1.LabelInstanceID] = strings.TrimPrefix(p.Name, "web-")
	})
	db := &kruisev1beta1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "db"}, Spec: kruisev1beta1.StatefulSetSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: label("db")}, Template: template("db"), ServiceName: "db",
	}}
	create(db)
	owner = metav1.NewControllerRef(db, kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind))
	children(t, c, owner, []string{"db-0", "db-1"}, func(p *corev1.Pod) {
		p.Labels[kruisev1beta1.LabelPodName], p.Labels[kruisev1beta1.LabelPodIndex] = p.Name, strings.TrimPrefix(p.Name, "db-")
		p.Spec.Hostname, p.Spec.Subdomain = p.Name, "db"
	})
	create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kruise-system", Name: "kruise-controller-manager"}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: label("kruise")}, Template: template("kruise"),
	}})
	hooks := webhooks()
	t.Cleanup(func() { // they would refuse the pods of the next test
		for _, o := range hooks {
			if err := c.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				t.Errorf("deleting %s: %v", o.GetName(), err)
			}
		}
	})
	for _, o := range hooks {
		create(o.DeepCopyObject().(client.Object))
	}
}

func label(app string) map[string]string { return map[string]string{"app": app} }

func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: label(app)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: imageOfShop}}},
	}
}

// children are a revision and pods that run, as a set of that owner has them.
func children(t *testing.T, c client.Client, owner *metav1.OwnerReference, names []string, change func(*corev1.Pod)) {
	t.Helper()
	recorded := fmt.Sprintf(`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":%q}},"spec":{`+
		`"containers":[{"image":%q,"imagePullPolicy":"IfNotPresent","name":"app","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],`+
		`"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}`,
		owner.Name, imageOfShop)
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: owner.Name + "-" + otherHash, Labels: label(owner.Name), OwnerReferences: []metav1.OwnerReference{*owner}},
		Data:       runtime.RawExtension{Raw: []byte(recorded)}, Revision: 3,
	}
	if err := c.Create(t.Context(), revision); err != nil {
		t.Fatalf("creating revision %s: %v", revision.Name, err)
	}
	for _, name := range names {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name, Labels: label(owner.Name), OwnerReferences: []metav1.OwnerReference{*owner}}}
		p.Labels[kruisev1alpha1.LabelRevision] = revision.Name
		p.Labels[kruisev1alpha1.LabelLifecycleState] = string(kruisev1alpha1.LifecycleNormal)
		p.Spec = template(owner.Name).Spec
		p.Spec.NodeName = "played-here"
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: kruisev1alpha1.ConditionInPlaceUpdateReady}}
		change(p)
		if err := c.Create(t.Context(), p); err != nil {
			t.Fatalf("creating pod %s: %v", name, err)
		}
		before := p.DeepCopy()
		p.Status.Conditions = []corev1.PodCondition{{Type: kruisev1alpha1.ConditionInPlaceUpdateReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		if err := c.Status().Patch(t.Context(), p, client.StrategicMergeFrom(before)); err != nil {
			t.Fatalf("opening the gate of pod %s: %v", name, err)
		}
		eventually(t, "pod "+name+" runs", func() error {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
				return err
			}
			if err := playPod(t, c, p); err != nil {
				return err
			}
			for _, condition := range p.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					return nil
				}
			}
			return fmt.Errorf("its status is %v", p.Status.Conditions)
		})
	}
}

// webhooks refuse pods as long as nobody answers them.
func webhooks() []client.Object {
	never := admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")}
	pods := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}}
	return []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "kruise-mutating-webhook-configuration"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "mpod.kb.io", ClientConfig: never, Rules: pods, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "kruise-validating-webhook-configuration"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "vpod.kb.io", ClientConfig: never, Rules: pods, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		},
	}
}
