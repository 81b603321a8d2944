// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
	raytypes "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

var errUnreachable = errors.New("the head is not ready")

// fakeRay stands in for the Ray dashboards that KubeRay talks to. A job runs from its
// submission until end is called, and is forgotten with its head pod, as by Ray. The
// autoscaler is played by the tests, which write to the RayCluster as it does.
type fakeRay struct {
	client client.Client

	mu   sync.Mutex
	jobs map[string]*fakeJob
}

type fakeJob struct {
	cluster types.NamespacedName
	head    types.UID
	status  rayv1.JobStatus
	started time.Time
}

func newFakeRay(c client.Client) *fakeRay {
	return &fakeRay{client: c, jobs: map[string]*fakeJob{}}
}

// end ends the job that was submitted to a cluster, and reports whether there is one.
func (r *fakeRay) end(cluster types.NamespacedName, status rayv1.JobStatus) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := false
	for _, job := range r.jobs {
		if job.cluster == cluster {
			job.status, ended = status, true
		}
	}
	return ended
}

func (r *fakeRay) head(ctx context.Context, cluster types.NamespacedName) (types.UID, error) {
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(cluster.Namespace), client.MatchingLabels{
		utils.RayClusterLabelKey: cluster.Name, utils.RayNodeTypeLabelKey: string(rayv1.HeadNode),
	})
	if err != nil {
		return "", err
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp == nil && isReady(pod) {
			return pod.UID, nil
		}
	}
	return "", errUnreachable
}

// GetDashboardClient implements utils.ClientProvider.
func (r *fakeRay) GetDashboardClient(context.Context, manager.Manager) func(*rayv1.RayCluster, string) (dashboardclient.RayDashboardClientInterface, error) {
	return func(cluster *rayv1.RayCluster, _ string) (dashboardclient.RayDashboardClientInterface, error) {
		return fakeDashboard{ray: r, cluster: client.ObjectKeyFromObject(cluster)}, nil
	}
}

// GetHttpProxyClient is for Ray Serve, which nothing uses here.
//
//nolint:revive // The name is that of KubeRay's interface.
func (r *fakeRay) GetHttpProxyClient(manager.Manager) func(string, string, string, int) utils.RayHttpProxyClientInterface {
	return nil
}

// fakeDashboard is the dashboard of one cluster. What it doesn't have panics.
type fakeDashboard struct {
	dashboardclient.RayDashboardClientInterface
	ray     *fakeRay
	cluster types.NamespacedName
}

func (d fakeDashboard) GetJobInfo(ctx context.Context, id string) (*raytypes.RayJobInfo, error) {
	head, err := d.ray.head(ctx, d.cluster)
	if err != nil {
		return nil, err
	}
	d.ray.mu.Lock()
	defer d.ray.mu.Unlock()
	job := d.ray.jobs[id]
	if job == nil || job.head != head {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("job %s does not exist", id))
	}
	info := &raytypes.RayJobInfo{JobId: id, SubmissionId: id, JobStatus: job.status, StartTime: uint64(job.started.UnixMilli())}
	if rayv1.IsJobTerminal(job.status) {
		info.EndTime = uint64(time.Now().UnixMilli())
	}
	return info, nil
}

func (d fakeDashboard) SubmitJob(ctx context.Context, rayJob *rayv1.RayJob) (string, error) {
	head, err := d.ray.head(ctx, d.cluster)
	if err != nil {
		return "", err
	}
	d.ray.mu.Lock()
	defer d.ray.mu.Unlock()
	d.ray.jobs[rayJob.Status.JobId] = &fakeJob{cluster: d.cluster, head: head, status: rayv1.JobStatusRunning, started: time.Now()}
	return rayJob.Status.JobId, nil
}

func (d fakeDashboard) StopJob(context.Context, string) error { return nil }
