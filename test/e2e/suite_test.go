// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	// patience is for what a loaded machine does in a few seconds.
	patience = time.Minute
	// lookEvery is the time between two looks at the API server.
	lookEvery = 100 * time.Millisecond
	// cleanUp is what is kept of the test's time for stopping the cluster, since nothing stops it when go test runs out of time.
	cleanUp = time.Minute
)

// cluster is what all specs share.
var cluster *environment

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(lookEvery)
	SetDefaultConsistentlyPollingInterval(lookEvery)
	suite, reporter := GinkgoConfiguration()
	if deadline, limited := t.Deadline(); limited {
		suite.Timeout = min(suite.Timeout, time.Until(deadline)-cleanUp)
	}
	RunSpecs(t, "Slipway on a local cluster", suite, reporter)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	cluster = newEnvironment()
	cluster.build(ctx)
	cluster.up(ctx)
	cluster.install(ctx)
	cluster.manager.start()
}, NodeTimeout(20*time.Minute))

var _ = ReportAfterSuite("logs", func(report Report) {
	if !report.SuiteSucceeded && cluster != nil {
		fmt.Fprintf(os.Stderr, "\nlogs and data of the cluster are left in %s\n", cluster.root)
	}
})
