package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// result is the result of one step with one object.
type result struct {
	Object string `json:"object"`
	Step   string `json:"step"`
	Error  string `json:"error"`
}

type report struct {
	Results []result `json:"results"`
	// Bodies counts the media types of the bodies that were sent.
	Bodies map[string]int `json:"bodies"`
	// Watches lists the errors of watches.
	Watches []string `json:"watches"`
}

type player struct {
	scheme *runtime.Scheme
	client client.Client
	caches cache.Cache
	typed  bool
	mutex  sync.Mutex
	report report
}

// play creates the objects in order, changes each in every way, and deletes them in reverse order, while caches of
// whole objects and of their metadata follow.
func play(ctx context.Context, scheme *runtime.Scheme, kubeconfig, file string, typed bool) (*report, error) {
	lives, err := readObjects(file)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	p := &player{scheme: scheme, typed: typed, report: report{Bodies: map[string]int{}, Watches: []string{}}}
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, p} })
	if err := p.connect(ctx, config, lives); err != nil {
		return nil, err
	}
	for _, one := range lives {
		p.note(one, "create", p.create(ctx, one))
	}
	for _, one := range lives {
		p.change(ctx, one)
	}
	slices.Reverse(lives)
	for _, one := range lives {
		p.note(one, "delete", p.remove(ctx, one))
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return &p.report, nil
}

func readObjects(file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		if err := reader.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// connect creates the client and the caches, and waits until the caches are synced.
func (p *player) connect(ctx context.Context, config *rest.Config, lives []*unstructured.Unstructured) error {
	var err error
	if p.client, err = client.New(config, client.Options{Scheme: p.scheme}); err != nil {
		return err
	}
	p.caches, err = cache.New(config, cache.Options{
		Scheme: p.scheme,
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			p.mutex.Lock()
			p.report.Watches = append(p.report.Watches, fmt.Sprintf("%s: %v", r.TypeDescription(), err))
			p.mutex.Unlock()
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		},
	})
	if err != nil {
		return err
	}
	for _, one := range lives {
		for _, form := range []client.Object{p.form(one), metadataOf(one)} {
			if _, err := p.caches.GetInformer(ctx, form, cache.BlockUntilSynced(false)); err != nil {
				return fmt.Errorf("informer of %s: %w", one.GroupVersionKind(), err)
			}
		}
	}
	go func() { _ = p.caches.Start(ctx) }()
	if !p.caches.WaitForCacheSync(ctx) {
		return fmt.Errorf("the caches never synced: %s", strings.Join(p.report.Watches, "\n"))
	}
	return nil
}

func (p *player) note(one *unstructured.Unstructured, step string, err error) {
	name := strings.TrimLeft(one.GetNamespace()+"/"+one.GetName(), "/")
	noted := result{Object: fmt.Sprintf("%s %s %s", one.GetAPIVersion(), one.GetKind(), name), Step: step}
	if err != nil {
		noted.Error = err.Error()
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.report.Results = append(p.report.Results, noted)
}

// counting counts the media types of request bodies.
type counting struct {
	next   http.RoundTripper
	player *player
}

func (c counting) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		c.player.mutex.Lock()
		c.player.report.Bodies[request.Method+" "+request.Header.Get("Content-Type")]++
		c.player.mutex.Unlock()
	}
	return c.next.RoundTrip(request)
}
