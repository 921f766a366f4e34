package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	mark  = "example.com/played"
	owner = client.FieldOwner("go-client")
	// patience is the time limit for a cache to contain a change. It is longer than the maximum pause of client-go
	// between two lists, which is 30 s with up to 100 % jitter.
	patience = 75 * time.Second
)

// form returns an empty object of the kind in the Go type of this run.
func (p *player) form(one *unstructured.Unstructured) client.Object {
	kind := one.GroupVersionKind()
	if p.typed && p.scheme.Recognizes(kind) {
		if object, err := p.scheme.New(kind); err == nil {
			return object.(client.Object)
		}
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

func metadataOf(one *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(one.GroupVersionKind())
	return object
}

func (p *player) create(ctx context.Context, one *unstructured.Unstructured) error {
	object := p.form(one)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.Object, object); err != nil {
		return err
	}
	if other, ok := object.(*unstructured.Unstructured); ok {
		other.Object = one.DeepCopy().Object
	}
	err := p.client.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return nil // a namespace that exists in every cluster
	}
	return err
}

// change runs all operations of a controller on an existing object.
func (p *player) change(ctx context.Context, one *unstructured.Unstructured) {
	key := client.ObjectKeyFromObject(one)
	object := p.form(one)
	p.note(one, "get", p.client.Get(ctx, key, object))
	steps := []struct {
		name string
		do   func() error
	}{
		{"update", func() error {
			return p.retried(ctx, key, object, func() error {
				object.SetAnnotations(map[string]string{mark: "updated"})
				return p.client.Update(ctx, object)
			})
		}},
		{"merge patch", func() error { return p.patch(ctx, object, client.MergeFrom) }},
		{"strategic patch", func() error {
			if _, ok := object.(*unstructured.Unstructured); ok {
				return nil
			}
			return p.patch(ctx, object, func(o client.Object) client.Patch { return client.StrategicMergeFrom(o) })
		}},
		{"apply", func() error {
			applied := &unstructured.Unstructured{}
			applied.SetGroupVersionKind(one.GroupVersionKind())
			applied.SetName(one.GetName())
			applied.SetNamespace(one.GetNamespace())
			applied.SetLabels(map[string]string{mark: "applied"})
			return p.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), owner, client.ForceOwnership)
		}},
		{"status", func() error { return p.status(ctx, key, object) }},
		{"list", func() error { return p.listed(ctx, one) }},
		{"caches", func() error { return p.followed(ctx, one, key) }},
	}
	for _, step := range steps {
		p.note(one, step.name, step.do())
	}
}

// retried handles a conflict like a controller: it reads the object and retries.
func (p *player) retried(ctx context.Context, key client.ObjectKey, object client.Object, do func() error) error {
	for attempt := 0; ; attempt++ {
		err := do()
		if !apierrors.IsConflict(err) || attempt == 5 {
			return err
		}
		if err := p.client.Get(ctx, key, object); err != nil {
			return err
		}
	}
}

func (p *player) patch(ctx context.Context, object client.Object, from func(client.Object) client.Patch) error {
	before := object.DeepCopyObject().(client.Object)
	labels := map[string]string{mark: fmt.Sprintf("%d", time.Now().UnixNano())}
	for key, value := range object.GetLabels() {
		if key != mark {
			labels[key] = value
		}
	}
	object.SetLabels(labels)
	return p.client.Patch(ctx, object, from(before))
}

// status writes the unchanged status of kinds with a status subresource.
func (p *player) status(ctx context.Context, key client.ObjectKey, object client.Object) error {
	err := p.client.Get(ctx, key, object)
	if err != nil {
		return err
	}
	err = p.retried(ctx, key, object, func() error { return p.client.Status().Update(ctx, object) })
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil
	}
	return err
}

// listed searches for the object in a list of whole objects and in a list of metadata.
func (p *player) listed(ctx context.Context, one *unstructured.Unstructured) error {
	kind := one.GroupVersionKind()
	kind.Kind += "List"
	whole := &unstructured.UnstructuredList{}
	whole.SetGroupVersionKind(kind)
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(kind)
	for _, list := range []client.ObjectList{whole, metadata} {
		if err := p.client.List(ctx, list, client.InNamespace(one.GetNamespace()), client.HasLabels{mark}); err != nil {
			return err
		}
	}
	named := func(name string) bool { return name == one.GetName() }
	for _, item := range whole.Items {
		if named(item.GetName()) {
			for _, partial := range metadata.Items {
				if named(partial.GetName()) && partial.GetUID() == item.GetUID() {
					return nil
				}
			}
			return fmt.Errorf("%s is not in the list of metadata", one.GetName())
		}
	}
	return fmt.Errorf("%s is not in the list", one.GetName())
}

// followed waits until both caches contain the state of the server.
func (p *player) followed(ctx context.Context, one *unstructured.Unstructured, key client.ObjectKey) error {
	return eventually(ctx, func() error {
		live, whole, partial := p.form(one), p.form(one), metadataOf(one)
		if err := p.client.Get(ctx, key, live); err != nil {
			return err
		}
		if err := p.caches.Get(ctx, key, whole); err != nil {
			return fmt.Errorf("the cache of objects: %w", err)
		}
		if err := p.caches.Get(ctx, key, partial); err != nil {
			return fmt.Errorf("the cache of metadata: %w", err)
		}
		for name, seen := range map[string]client.Object{"objects": whole, "metadata": partial} {
			if seen.GetResourceVersion() != live.GetResourceVersion() {
				return fmt.Errorf("the cache of %s is at %s, the server at %s", name, seen.GetResourceVersion(), live.GetResourceVersion())
			}
			if !reflect.DeepEqual(seen.GetLabels(), live.GetLabels()) {
				return fmt.Errorf("the cache of %s has the labels %v, the server %v", name, seen.GetLabels(), live.GetLabels())
			}
		}
		return nil
	})
}

// remove deletes the object, and waits until both caches contain the deletion.
func (p *player) remove(ctx context.Context, one *unstructured.Unstructured) error {
	key := client.ObjectKeyFromObject(one)
	object := p.form(one)
	object.SetName(one.GetName())
	object.SetNamespace(one.GetNamespace())
	if err := p.client.Delete(ctx, object, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		for _, seen := range []client.Object{p.form(one), metadataOf(one)} {
			err := p.caches.Get(ctx, key, seen)
			if err == nil && seen.GetDeletionTimestamp() == nil {
				return fmt.Errorf("%T is still in its cache", seen)
			}
		}
		return nil
	})
}

func eventually(ctx context.Context, holds func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = holds()
		return last == nil, nil
	})
	if err != nil {
		return last
	}
	return nil
}
