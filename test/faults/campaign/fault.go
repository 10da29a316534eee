// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/localcluster"
	"slipway.dev/slipway/test/faults/proxy"
	"slipway.dev/slipway/test/ground"
)

// fault is a kind of trouble.
type fault struct {
	name, what string
	// managers is how many stand ready; flags are theirs.
	managers int
	flags    []string
	// lag is how long a controller may not know what others have done; 0 for a second.
	lag time.Duration
	// before makes trouble that is there when the operation begins.
	before func(context.Context, *story) error
	// strike runs while the operation is under way. When it returns, all is healed.
	strike func(context.Context, *story) error
}

const clocksApart = "clocks"

// A lease that is short enough to see it pass.
var shortLease = []string{"--leader-election-lease-duration=3s", "--leader-election-renew-deadline=2s", "--leader-election-retry-period=500ms"}

const shortLeaseLasts = 3 * time.Second

// faults are all there are, in the order in which they are played.
func faults() []fault {
	const trouble = 6 * time.Second
	return []fault{
		{name: "none", what: "none, to compare with", managers: 1},
		{name: "manager-killed", what: "manager killed twice and started again", managers: 1, flags: shortLease, strike: killManager},
		{name: "leader-cut", what: "two managers, the leader loses its connection for good", managers: 2, flags: shortLease, strike: cutLeader(proxy.Rules{Cut: true})},
		{name: "lease-cut", what: "two managers, the leader reaches everything but its lease", managers: 2, flags: shortLease, strike: cutLeader(proxy.Rules{CutLeases: true})},
		{name: clocksApart, what: "two managers, their clocks apart by a minute, take turns", managers: 2, flags: shortLease, strike: takeTurns},
		{name: "api-killed", what: "API server killed and started again", managers: 1, lag: 3 * time.Second, strike: killComponent("kube-apiserver")},
		{name: "etcd-killed", what: "etcd killed and started again", managers: 1, lag: 3 * time.Second, strike: killComponent("etcd")},
		{name: "slow-writes", what: "each write takes up to 2 seconds", managers: 1, before: set(proxy.Rules{WriteDelay: 2 * time.Second}), strike: healAfter(trouble)},
		{name: "errors", what: "a third of all requests answered 429, 500 or 409, and a tenth of all answers lost", managers: 1,
			before: set(proxy.Rules{Refuse: 0.33, Lose: 0.1}), strike: healAfter(trouble)},
		{name: "watches-dropped", what: "each watch ends within a second", managers: 1, lag: 3 * time.Second,
			before: set(proxy.Rules{WatchLife: time.Second}), strike: healAfter(trouble)},
		{name: "watches-late", what: "watches are 2 seconds late", managers: 1, lag: 4 * time.Second,
			before: set(proxy.Rules{WatchDelay: 2 * time.Second}), strike: healAfter(2 * trouble)},
		{name: "node-lost", what: "a node falls silent until its pods are given up, and returns", managers: 1, strike: loseNode},
		{name: "quota", what: "a quota leaves no room, and is raised", managers: 1, before: quota, strike: raiseQuota},
		{name: "evicted", what: "pods evicted", managers: 1, strike: evict},
		{name: "deleted", what: "pods deleted by a person, or chosen for deletion", managers: 1, strike: deletePods},
		{name: "finalizers", what: "pods stuck while they go, by a finalizer of somebody else", managers: 1, strike: stuck},
		{name: "crd-upgraded", what: "the CRDs applied with other fields and columns, again and again", managers: 1, lag: 3 * time.Second, strike: upgradeDefinitions},
	}
}

// somewhere waits for a moment in the middle.
func (s *story) somewhere(ctx context.Context) bool {
	return pause(ctx, 200*time.Millisecond+time.Duration(s.random.Int64N(int64(time.Second))))
}

func set(rules proxy.Rules) func(context.Context, *story) error {
	return func(_ context.Context, s *story) error {
		for _, m := range s.managers {
			m.proxy.Set(rules)
		}
		return nil
	}
}

func healAfter(long time.Duration) func(context.Context, *story) error {
	return func(ctx context.Context, s *story) error {
		pause(ctx, long)
		return set(proxy.Rules{})(ctx, s)
	}
}

func killManager(ctx context.Context, s *story) error {
	for range 2 {
		if !s.somewhere(ctx) {
			return ctx.Err()
		}
		before, err := s.leader(ctx)
		if err != nil {
			return err
		}
		if err := s.managers[0].kill(); err != nil {
			return err
		}
		err = s.until(ctx, patience, func(ctx context.Context) error {
			if now, err := s.leader(ctx); err != nil || now == before {
				return errors.Join(errors.New("nobody leads"), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leader is who holds the lease.
func (s *story) leader(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := s.api.Get(ctx, client.ObjectKey{Namespace: ground.SystemNamespace, Name: ground.Manager}, lease); err != nil {
		return "", fmt.Errorf("looking for the leader: %w", err)
	}
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	if holder == "" || lease.Spec.RenewTime == nil {
		return "", errors.New("nobody leads")
	}
	return holder, nil
}

// leading is the manager that leads, told by its proxy: the one that sends most.
func (s *story) leading(ctx context.Context) (*manager, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	for i := len(s.events) - 1; i >= 0; i-- {
		e := &s.events[i]
		if e.Resource != "leases" || !e.Accepted() {
			continue
		}
		for _, m := range s.managers {
			if strings.HasSuffix(e.UserAgent, " via/"+m.tag()) {
				return m, nil
			}
		}
	}
	return nil, errors.New("no manager has the lease")
}

// cutLeader cuts the leader off until another leads, and then until its own lease would have passed again.
func cutLeader(rules proxy.Rules) func(context.Context, *story) error {
	return func(ctx context.Context, s *story) error {
		if !s.somewhere(ctx) {
			return ctx.Err()
		}
		old, err := s.leading(ctx)
		if err != nil {
			return err
		}
		before, err := s.leader(ctx)
		if err != nil {
			return err
		}
		old.proxy.Set(rules)
		err = s.until(ctx, patience, func(ctx context.Context) error {
			if now, err := s.leader(ctx); err != nil || now == before {
				return errors.Join(errors.New("nobody else leads"), err)
			}
			return nil
		})
		pause(ctx, shortLeaseLasts)
		old.proxy.Set(proxy.Rules{})
		return err
	}
}

// takeTurns kills whoever leads, so that the other goes on with what it has begun.
func takeTurns(ctx context.Context, s *story) error {
	for range 2 {
		if !s.somewhere(ctx) {
			return ctx.Err()
		}
		old, err := s.leading(ctx)
		if err != nil {
			return err
		}
		before, err := s.leader(ctx)
		if err != nil {
			return err
		}
		if err := old.kill(); err != nil {
			return err
		}
		err = s.until(ctx, patience, func(ctx context.Context) error {
			now, err := s.leader(ctx)
			if err != nil || now == before {
				return errors.Join(errors.New("nobody else leads"), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// killComponent kills a part of the plane, and starts it again after a while.
func killComponent(name string) func(context.Context, *story) error {
	return func(ctx context.Context, s *story) error {
		if !s.somewhere(ctx) {
			return ctx.Err()
		}
		if err := localcluster.Kill(s.root, name); err != nil {
			return err
		}
		pause(ctx, time.Second)
		if err := localcluster.Revive(ctx, s.root, name); err != nil {
			return err
		}
		return s.until(ctx, patience, s.follower.Look)
	}
}
