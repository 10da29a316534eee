// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"slipway.dev/slipway/internal/rollout/errand"
	"slipway.dev/slipway/internal/rollout/measure"
	"slipway.dev/slipway/internal/rollout/outbound"
)

func askPrometheus(ctx context.Context, client *outbound.Client, q Question) errand.Attempt[measure.Sample] {
	var value model.Value
	var warnings prometheusv1.Warnings
	visit := q.visit()
	trace, err := client.Visit(ctx, visit, func(ctx context.Context, through *http.Client) error {
		server, err := api.NewClient(api.Config{Address: q.Provider.Address, Client: through})
		if err != nil {
			return fmt.Errorf("making a client: %w", err)
		}
		value, warnings, err = prometheusv1.NewAPI(server).Query(ctx, q.Query, time.Time{}, prometheusv1.WithTimeout(timeout))
		return err
	})
	for _, w := range warnings {
		logr.FromContextOrDiscard(ctx).Info("the query of a metric has a warning", "warning", visit.Clean(w))
	}
	var problem *prometheusv1.Error
	switch isFine := trace.Status >= 200 && trace.Status <= 299; {
	case err != nil && isFine && trace.Complete:
		return fault("its answer is not a number from Prometheus: look at the address and the query")
	case errors.As(err, &problem):
		return unanswered(visit, trace, err, cmp.Or(problem.Detail, problem.Msg))
	case err != nil:
		return unanswered(visit, trace, err, "")
	}
	return errand.Done(sampleOf(value))
}

// sampleOf takes the one number out of an answer.
func sampleOf(value model.Value) measure.Sample {
	switch v := value.(type) {
	case *model.Scalar:
		return measure.Of(float64(v.Value))
	case model.Vector:
		switch {
		case len(v) == 0:
			return measure.Sample{Kind: measure.NoData, Message: "the query gives nothing"}
		case len(v) > 1:
			return measure.Sample{Kind: measure.Fault, Message: fmt.Sprintf("the query gives %d numbers, and one is wanted: use sum, max or another aggregation", len(v))}
		case v[0].Histogram != nil:
			return measure.Sample{Kind: measure.Fault, Message: "the query gives a histogram, and a number is wanted: use histogram_quantile or another function of it"}
		}
		return measure.Of(float64(v[0].Value))
	default:
		return measure.Sample{Kind: measure.Fault, Message: fmt.Sprintf("the query gives a %s, and a number is wanted", value.Type())}
	}
}
