// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simruntime

import (
	"context"
	"errors"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
	raytypes "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// errNoServe answers everything about Ray Serve, which is not simulated.
var errNoServe = errors.New("the simulated Ray runtime has no Ray Serve")

// Provider gives KubeRay the simulated dashboards.
type Provider struct {
	runtime *Runtime
}

var (
	_ utils.ClientProvider                        = Provider{}
	_ dashboardclient.RayDashboardClientInterface = simulatedDashboard{}
)

// NewProvider returns the Provider of a Runtime.
func NewProvider(runtime *Runtime) Provider {
	return Provider{runtime: runtime}
}

// GetDashboardClient returns what makes the client of one cluster's dashboard.
func (p Provider) GetDashboardClient(context.Context, manager.Manager) func(*rayv1.RayCluster, string) (dashboardclient.RayDashboardClientInterface, error) {
	return func(cluster *rayv1.RayCluster, _ string) (dashboardclient.RayDashboardClientInterface, error) {
		return simulatedDashboard{runtime: p.runtime, cluster: client.ObjectKeyFromObject(cluster)}, nil
	}
}

// GetHttpProxyClient is for Ray Serve only; nothing calls it here.
//
//nolint:revive // The name is that of KubeRay's interface.
func (p Provider) GetHttpProxyClient(manager.Manager) func(string, string, string, int) utils.RayHttpProxyClientInterface {
	return func(string, string, string, int) utils.RayHttpProxyClientInterface { return noServeProxy{} }
}

type noServeProxy struct{}

func (noServeProxy) CheckProxyActorHealth(context.Context) error {
	return errNoServe
}

// simulatedDashboard is the client of one cluster's dashboard.
type simulatedDashboard struct {
	runtime *Runtime
	cluster types.NamespacedName
}

func (d simulatedDashboard) GetJobInfo(ctx context.Context, id string) (*raytypes.RayJobInfo, error) {
	job, err := d.runtime.Job(ctx, d.cluster, id)
	if errors.Is(err, ErrUnknownJob) {
		// The form in which KubeRay's own client reports it.
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err != nil {
		return nil, err
	}
	return info(job), nil
}

func (d simulatedDashboard) ListJobs(context.Context) (*[]raytypes.RayJobInfo, error) {
	infos := []raytypes.RayJobInfo{}
	for _, job := range d.runtime.Jobs(d.cluster) {
		infos = append(infos, *info(job))
	}
	return &infos, nil
}

func (d simulatedDashboard) SubmitJob(ctx context.Context, rayJob *rayv1.RayJob) (string, error) {
	return rayJob.Status.JobId, d.runtime.Submit(ctx, d.cluster, rayJob)
}

func (d simulatedDashboard) SubmitJobReq(context.Context, *raytypes.RayJobRequest) (string, error) {
	return "", errors.New("the simulated Ray runtime takes jobs from a RayJob only")
}

func (d simulatedDashboard) GetJobLog(ctx context.Context, id string) (*string, error) {
	job, err := d.runtime.Job(ctx, d.cluster, id)
	if err != nil {
		return nil, err
	}
	return &job.Message, nil
}

func (d simulatedDashboard) StopJob(_ context.Context, id string) error {
	d.runtime.Stop(d.cluster, id)
	return nil
}

func (d simulatedDashboard) DeleteJob(_ context.Context, id string) error {
	d.runtime.Forget(d.cluster, id)
	return nil
}

func (d simulatedDashboard) UpdateDeployments(context.Context, []byte) error {
	return errNoServe
}

func (d simulatedDashboard) GetServeDetails(context.Context) (*raytypes.ServeDetails, error) {
	return nil, errNoServe
}

func (d simulatedDashboard) GetMultiApplicationStatus(context.Context) (map[string]*raytypes.ServeApplicationStatus, error) {
	return nil, errNoServe
}

func info(job Job) *raytypes.RayJobInfo {
	millis := func(ms int64) uint64 { return uint64(max(ms, 0)) }
	i := &raytypes.RayJobInfo{
		JobId:        job.ID,
		SubmissionId: job.ID,
		Entrypoint:   job.Entrypoint,
		JobStatus:    job.Status,
		Message:      job.Message,
		StartTime:    millis(job.Start.UnixMilli()),
	}
	if !job.End.IsZero() {
		i.EndTime = millis(job.End.UnixMilli())
	}
	return i
}
