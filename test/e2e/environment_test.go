// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/localcluster/nodes"
	"slipway.dev/slipway/test/audit"
	"slipway.dev/slipway/test/ground"
)

const (
	systemNamespace = ground.SystemNamespace
	managerName     = ground.Manager
)

// environment is the cluster with everything in it.
type environment struct {
	// repository is where the code under test stands. root is where the cluster stands.
	repository, root string
	// Client is the user's: it never is the manager's.
	client.Client
	manager *manager
	audit   *auditLog
}

// newEnvironment makes a root that the cluster can live in: it shares with the repository what does not change.
func newEnvironment() *environment {
	GinkgoHelper()
	repository, err := localcluster.FindRoot(".")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.MkdirAll(filepath.Join(repository, "bin"), 0o755)).To(Succeed())
	root, err := ground.NewRoot(repository, "slipway-e2e-")
	Expect(err).NotTo(HaveOccurred())
	e := &environment{repository: repository, root: root}
	DeferCleanup(func() {
		if !failed() {
			Expect(os.RemoveAll(root)).To(Succeed())
		}
	})
	return e
}

// failed tells whether anything failed so far.
func failed() bool { return anyFailed || CurrentSpecReport().Failed() }

var anyFailed bool

var _ = ReportAfterEach(func(report SpecReport) { anyFailed = anyFailed || report.Failed() })

func (e *environment) program(name string) string { return filepath.Join(e.root, "programs", name) }

// build makes the programs from the code as it is now.
func (e *environment) build(ctx context.Context) {
	GinkgoHelper()
	Expect(os.Mkdir(e.program(""), 0o755)).To(Succeed())
	Expect(ground.Build(ctx, e.repository, e.program("")+"/", "./cmd/localcluster", "./cmd/slipway", "./cmd/slipway-manager",
		"./localcluster/images/pause", "./localcluster/images/server", "./examples/traffic-component")).To(Succeed())
}

func (e *environment) up(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(func() {
		Expect(localcluster.Down(e.root, failed(), GinkgoWriter)).To(Succeed())
	})
	e.upWith(ctx, nil)
	config, err := localcluster.ClientConfig(e.root)
	Expect(err).NotTo(HaveOccurred())
	config.QPS, config.UserAgent = -1, "slipway-e2e"
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(kruisev1alpha1.AddToScheme(scheme)).To(Succeed())
	Expect(kruisev1beta1.AddToScheme(scheme)).To(Succeed())
	Expect(rolloutv1alpha1.AddToScheme(scheme)).To(Succeed())
	Expect(cafev1alpha1.AddToScheme(scheme)).To(Succeed())
	Expect(oamv1beta1.AddToScheme(scheme)).To(Succeed())
	api, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	e.Client = api
	follower, err := audit.Follow(context.WithoutCancel(ctx), api)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(follower.Stop)
	e.audit = &auditLog{path: localcluster.AuditLogPath(e.root), follower: follower}
}

// upWith brings the cluster up, or changes its nodes.
func (e *environment) upWith(ctx context.Context, settings *nodes.Settings) {
	GinkgoHelper()
	Expect(localcluster.Up(ctx, localcluster.Options{
		Root: e.root, Nodes: settings, Executable: e.program("localcluster"), Out: GinkgoWriter,
		RealNode: ptr.To(true), // where it can be had; what needs it is skipped elsewhere
	})).To(Succeed())
}

// startIn has the nodes start and restart containers in that time, until the spec ends.
func (e *environment) startIn(ctx context.Context, delay time.Duration) {
	GinkgoHelper()
	before, err := localcluster.NodeSettings(e.root)
	Expect(err).NotTo(HaveOccurred())
	faster := before
	faster.StartDelay, faster.RestartDelay = delay, delay
	e.upWith(ctx, &faster)
	DeferCleanup(func(ctx SpecContext) { e.upWith(ctx, &before) })
}

// install installs Slipway as a user does. The Deployment's pods run on simulated nodes, which means that
// they do nothing; the manager that works is a process here, with their service account.
func (e *environment) install(ctx context.Context) {
	GinkgoHelper()
	token, err := ground.Install(ctx, e.repository, e.root, e.Client)
	Expect(err).NotTo(HaveOccurred())
	e.manager = &manager{
		program: e.program("slipway-manager"), kubeconfig: e.kubeconfig(managerName, token), log: filepath.Join(e.root, "manager.log"),
	}
	DeferCleanup(e.manager.stop)
}

// kubeconfig writes a kubeconfig for whoever has a token.
func (e *environment) kubeconfig(user, token string) string {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(localcluster.KubeconfigPath(e.root))
	Expect(err).NotTo(HaveOccurred())
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{user: {Token: token}}
	config.Contexts[config.CurrentContext].AuthInfo = user
	path := filepath.Join(e.root, user+".kubeconfig")
	Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

// slipway prepares a run of the CLI as the user.
func (e *environment) slipway(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.program("slipway"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+localcluster.KubeconfigPath(e.root), "HOME="+e.root)
	return cmd
}

// kubectl runs kubectl as the user and returns what it printed.
func (e *environment) kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := ground.Kubectl(ctx, e.root, args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}
