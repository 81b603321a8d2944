// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// objectKey names a stored object.
type objectKey struct{ kind, namespace, name string }

func (k objectKey) compare(o objectKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name))
}

// fakeAPI is an API server and the informer cache of one client, in memory. Writes
// go to the server; reads see the cache, which follows when an event is delivered.
// Unlike controller-runtime's fake client it keeps typed objects, so that thousands
// of sequences fit into a minute, it lets the cache lag, and its server-side apply of
// a Workload's status removes what the manager no longer applies.
type fakeAPI struct {
	client.Client // nil: a call that isn't implemented panics

	mu      sync.Mutex
	scheme  *runtime.Scheme
	clock   clock.PassiveClock
	stored  map[objectKey]client.Object
	cached  map[objectKey]client.Object
	dirty   map[objectKey]bool
	indexes map[string]client.IndexerFunc // by kind/field
	version int64
	uids    int
	newUID  func(n int) types.UID
	// failAfter is how many writes to Workloads go well before one fails; -1 is all.
	failAfter int
	// fails, when set, is asked whether a write to the status of a Workload fails.
	fails func() bool
}

func newFakeAPI(scheme *runtime.Scheme, clk clock.PassiveClock, newUID func(n int) types.UID) *fakeAPI {
	return &fakeAPI{
		scheme: scheme, clock: clk, newUID: newUID,
		stored: map[objectKey]client.Object{}, cached: map[objectKey]client.Object{},
		dirty: map[objectKey]bool{}, indexes: map[string]client.IndexerFunc{}, failAfter: -1,
	}
}

func kindOf(obj runtime.Object) string { return reflect.TypeOf(obj).Elem().Name() }

func keyOf(obj client.Object) objectKey {
	return objectKey{kindOf(obj), obj.GetNamespace(), obj.GetName()}
}

func copyOf(obj client.Object) client.Object { return obj.DeepCopyObject().(client.Object) }

// assign makes dst what src is.
func assign(dst, src client.Object) { reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem()) }

func (f *fakeAPI) notFound(key objectKey) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(key.kind) + "s"}, key.name)
}

func (f *fakeAPI) Scheme() *runtime.Scheme { return f.scheme }

func (f *fakeAPI) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, f.scheme)
}

// IndexField implements client.FieldIndexer.
func (f *fakeAPI) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	f.indexes[kindOf(obj)+"/"+field] = extract
	return nil
}

func (f *fakeAPI) Get(_ context.Context, name client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := objectKey{kindOf(obj), name.Namespace, name.Name}
	found, ok := f.cached[key]
	if !ok {
		return f.notFound(key)
	}
	assign(obj, copyOf(found))
	return nil
}

func (f *fakeAPI) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var o client.ListOptions
	o.ApplyOptions(opts)
	kind := strings.TrimSuffix(kindOf(list), "List")
	var found []client.Object
	for key, obj := range f.cached {
		if key.kind != kind || (o.Namespace != "" && key.namespace != o.Namespace) {
			continue
		}
		ok, err := f.matches(kind, obj, &o)
		if err != nil {
			return err
		}
		if ok {
			found = append(found, obj)
		}
	}
	slices.SortFunc(found, func(a, b client.Object) int { return keyOf(a).compare(keyOf(b)) })
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	out := reflect.MakeSlice(items.Type(), 0, len(found))
	for _, obj := range found {
		out = reflect.Append(out, reflect.ValueOf(copyOf(obj)).Elem())
	}
	items.Set(out)
	return nil
}

func (f *fakeAPI) matches(kind string, obj client.Object, o *client.ListOptions) (bool, error) {
	if o.LabelSelector != nil && !o.LabelSelector.Matches(labelSet(obj.GetLabels())) {
		return false, nil
	}
	if o.FieldSelector == nil {
		return true, nil
	}
	for _, want := range o.FieldSelector.Requirements() {
		extract, ok := f.indexes[kind+"/"+want.Field]
		if !ok {
			return false, fmt.Errorf("failed to list: %s has no index %q", kind, want.Field)
		}
		if !slices.Contains(extract(obj), want.Value) {
			return false, nil
		}
	}
	return true, nil
}

type labelSet map[string]string

func (l labelSet) Has(label string) bool                   { _, ok := l[label]; return ok }
func (l labelSet) Get(label string) string                 { return l[label] }
func (l labelSet) Lookup(label string) (v string, ok bool) { v, ok = l[label]; return }

func (f *fakeAPI) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(obj)
	if _, ok := f.stored[key]; ok {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: strings.ToLower(key.kind) + "s"}, key.name)
	}
	f.uids++
	obj.SetUID(f.newUID(f.uids))
	obj.SetGeneration(1)
	obj.SetCreationTimestamp(metav1.NewTime(f.clock.Now().Truncate(1e9)))
	f.put(key, copyOf(obj))
	obj.SetResourceVersion(f.stored[key].GetResourceVersion())
	return nil
}

// put stores obj under a new version.
func (f *fakeAPI) put(key objectKey, obj client.Object) {
	f.version++
	obj.SetResourceVersion(strconv.FormatInt(f.version, 10))
	if old, ok := f.stored[key]; ok && !sameSpec(old, obj) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	f.dirty[key] = true
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 && key.kind != "Pod" {
		delete(f.stored, key)
		return
	}
	f.stored[key] = obj
}

func sameSpec(a, b client.Object) bool {
	sa, sb := reflect.ValueOf(a).Elem().FieldByName("Spec"), reflect.ValueOf(b).Elem().FieldByName("Spec")
	return !sa.IsValid() || equality.Semantic.DeepEqual(sa.Interface(), sb.Interface())
}

func setStatus(dst, src client.Object) {
	to, from := reflect.ValueOf(dst).Elem().FieldByName("Status"), reflect.ValueOf(src).Elem().FieldByName("Status")
	if to.IsValid() && from.IsValid() {
		to.Set(from)
	}
}

// currentStatus is current for a write to the status.
func (f *fakeAPI) currentStatus(obj client.Object, version string) (objectKey, client.Object, error) {
	if kindOf(obj) == "Workload" && f.fails != nil && f.fails() {
		return keyOf(obj), nil, apierrors.NewInternalError(errors.New("the model lets a write of a status fail"))
	}
	return f.current(obj, version)
}

// current returns the stored object, after the checks that every write has in common.
func (f *fakeAPI) current(obj client.Object, version string) (objectKey, client.Object, error) {
	key := keyOf(obj)
	if key.kind == "Workload" && f.failAfter >= 0 {
		f.failAfter--
		if f.failAfter < 0 {
			return key, nil, apierrors.NewInternalError(errors.New("the model lets this write fail"))
		}
	}
	found, ok := f.stored[key]
	if !ok {
		return key, nil, f.notFound(key)
	}
	if version != "" && version != found.GetResourceVersion() {
		return key, nil, apierrors.NewConflict(schema.GroupResource{Resource: strings.ToLower(key.kind) + "s"}, key.name, errors.New("the object has been modified"))
	}
	return key, found, nil
}

func (f *fakeAPI) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, found, err := f.current(obj, obj.GetResourceVersion())
	if err != nil {
		return err
	}
	next := copyOf(obj)
	setStatus(next, found)
	f.keepSystemFields(next, found)
	f.put(key, next)
	assign(obj, copyOf(next))
	return nil
}

func (f *fakeAPI) keepSystemFields(next, found client.Object) {
	next.SetUID(found.GetUID())
	next.SetCreationTimestamp(found.GetCreationTimestamp())
	next.SetGeneration(found.GetGeneration())
	next.SetDeletionTimestamp(found.GetDeletionTimestamp())
}

func (f *fakeAPI) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mergePatch(obj, patch, "")
}

// mergePatch applies a JSON merge patch to the object without its status, or to the
// status alone.
func (f *fakeAPI) mergePatch(obj client.Object, patch client.Patch, subResource string) error {
	if patch.Type() != types.MergePatchType {
		return fmt.Errorf("failed to patch %s: the fake API server has no %s", keyOf(obj).name, patch.Type())
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var head struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	read := f.current
	if subResource == "status" {
		read = f.currentStatus
	}
	key, found, err := read(obj, head.Metadata.ResourceVersion)
	if err != nil {
		return err
	}
	before, err := json.Marshal(found)
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		return err
	}
	next := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(after, next); err != nil {
		return err
	}
	if subResource == "status" {
		status := next
		next = copyOf(found)
		setStatus(next, status)
	} else {
		setStatus(next, found)
	}
	f.keepSystemFields(next, found)
	f.put(key, next)
	assign(obj, copyOf(next))
	return nil
}

func (f *fakeAPI) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, found, err := f.current(obj, "")
	if err != nil {
		return err
	}
	if found.GetDeletionTimestamp() == nil {
		next := copyOf(found)
		next.SetDeletionTimestamp(&metav1.Time{Time: f.clock.Now()})
		f.put(key, next)
	}
	return nil
}

func (f *fakeAPI) Status() client.SubResourceWriter { return statusWriter{f} }

func (f *fakeAPI) SubResource(string) client.SubResourceClient { panic("not implemented") }

// statusWriter writes the status subresource.
type statusWriter struct{ f *fakeAPI }

func (w statusWriter) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	panic("not implemented")
}

func (w statusWriter) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	panic("not implemented")
}

func (w statusWriter) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	key, found, err := w.f.currentStatus(obj, obj.GetResourceVersion())
	if err != nil {
		return err
	}
	next := copyOf(found)
	setStatus(next, copyOf(obj))
	w.f.put(key, next)
	assign(obj, copyOf(next))
	return nil
}

func (w statusWriter) Patch(_ context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	wl, isWorkload := obj.(*kueue.Workload)
	if patch.Type() != types.ApplyPatchType || !isWorkload {
		return w.f.mergePatch(obj, patch, "status")
	}
	var o client.SubResourcePatchOptions
	o.ApplyOptions(opts)
	key, found, err := w.f.currentStatus(obj, obj.GetResourceVersion())
	if err != nil {
		return err
	}
	if wl.Generation != 0 && wl.Generation < found.GetGeneration() {
		return apierrors.NewInvalid(kueue.SchemeGroupVersion.WithKind("Workload").GroupKind(), wl.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "generation"), wl.Generation, "must not be decremented"),
		})
	}
	next := copyOf(found).(*kueue.Workload)
	applyWorkloadStatus(next, wl.DeepCopy(), o.FieldManager)
	w.f.put(key, next)
	assign(obj, copyOf(next))
	return nil
}

// admissionManager is the field manager that owns the admission of a Workload.
const admissionManager = "kueue-admission"

// applyWorkloadStatus does what server-side apply does with the status that one of
// Kueue's field managers sends. The admission's manager always sends all of its
// fields, so what it leaves out goes; the other managers own conditions only.
func applyWorkloadStatus(next, applied *kueue.Workload, manager string) {
	to, from := &next.Status, &applied.Status
	if manager == admissionManager {
		for _, condition := range to.Conditions {
			if apimeta.FindStatusCondition(from.Conditions, condition.Type) == nil && admissionCondition(condition.Type) {
				apimeta.RemoveStatusCondition(&to.Conditions, condition.Type)
			}
		}
		to.Admission, to.RequeueState, to.ResourceRequests = from.Admission, from.RequeueState, from.ResourceRequests
		to.AdmissionChecks, to.UnhealthyNodes, to.ClusterName = from.AdmissionChecks, from.UnhealthyNodes, from.ClusterName
		to.NominatedClusterNames, to.PreemptionGates = from.NominatedClusterNames, from.PreemptionGates
		to.SchedulingStats, to.AccumulatedPastExecutionTimeSeconds = from.SchedulingStats, from.AccumulatedPastExecutionTimeSeconds
	}
	for _, condition := range from.Conditions {
		if old := apimeta.FindStatusCondition(to.Conditions, condition.Type); old != nil {
			*old = condition
		} else {
			to.Conditions = append(to.Conditions, condition)
		}
	}
	if from.ReclaimablePods != nil {
		to.ReclaimablePods = from.ReclaimablePods
	}
}

func admissionCondition(kind string) bool {
	switch kind {
	case kueue.WorkloadQuotaReserved, kueue.WorkloadEvicted, kueue.WorkloadAdmitted, kueue.WorkloadPreempted,
		kueue.WorkloadRequeued, kueue.WorkloadDeactivationTarget, kueue.WorkloadFinished, kueue.WorkloadBlockedOnPreemptionGates:
		return true
	}
	return false
}

// event is a change that the informer cache hasn't seen yet.
type event struct {
	key      objectKey
	old, new client.Object // nil when it didn't exist, or exists no longer
}

// deliver brings one change into the cache. Changes of one object are merged, as
// informers do. Stored objects are never changed, so handlers may keep them.
func (f *fakeAPI) deliver() (event, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dirty) == 0 {
		return event{}, false
	}
	var key objectKey
	first := true
	for k := range f.dirty {
		if first || k.compare(key) < 0 {
			key, first = k, false
		}
	}
	delete(f.dirty, key)
	e := event{key: key}
	if old, ok := f.cached[key]; ok {
		e.old = old
	}
	if now, ok := f.stored[key]; ok {
		e.new, f.cached[key] = now, now
	} else {
		delete(f.cached, key)
	}
	return e, true
}

// change edits a stored object in place of a component that the model only imitates.
func change[T client.Object](f *fakeAPI, namespace, name string, edit func(T)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var zero T
	key := objectKey{reflect.TypeOf(zero).Elem().Name(), namespace, name}
	found, ok := f.stored[key]
	if !ok {
		return
	}
	next := copyOf(found).(T)
	edit(next)
	f.put(key, next)
}

// remove takes an object out of the store whatever its finalizers.
func (f *fakeAPI) remove(key objectKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.stored[key]; ok {
		f.version++
		delete(f.stored, key)
		f.dirty[key] = true
	}
}

// all returns the stored objects of one kind in the order of their names. The
// objects are the store's own.
func all[T client.Object](f *fakeAPI) []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []T
	for _, obj := range f.stored {
		if t, ok := obj.(T); ok {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b T) int { return keyOf(a).compare(keyOf(b)) })
	return out
}
