// Allocates devices for problems on standard input with the allocator of kube-scheduler 1.36, one JSON object in each line, and
// prints the problems with the answers. Answers are part of test/unit/engine/dra/fixtures/kube-scheduler.jsonl.gz, because unit
// tests cannot rely on Go: `node problems.ts 1500 7 | go run . | gzip -n >> kube-scheduler.jsonl.gz`.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type problem struct {
	Slices  []*resourceapi.ResourceSlice `json:"slices"`
	Classes []*resourceapi.DeviceClass   `json:"classes"`
	Claims  []*resourceapi.ResourceClaim `json:"claims"`
	Taken   [][3]string                  `json:"taken"`
	Shared  []sharedDevice               `json:"shared"`
}

type sharedDevice struct {
	Device   [3]string                                       `json:"device"`
	Capacity map[resourceapi.QualifiedName]resource.Quantity `json:"capacity"`
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }
func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, each := range c {
		if each.Name == name {
			return each, nil
		}
	}
	return nil, fmt.Errorf("class %s not found", name)
}

func main() {
	features := structured.Features{
		AdminAccess: true, ConsumableCapacity: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true,
	}
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true})
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var p problem
		if err := json.Unmarshal(in.Bytes(), &p); err != nil {
			panic(err)
		}
		taken := sets.New[structured.DeviceID]()
		for _, t := range p.Taken {
			taken.Insert(structured.MakeDeviceID(t[0], t[1], t[2]))
		}
		shared, capacity := sets.New[structured.SharedDeviceID](), structured.NewConsumedCapacityCollection()
		for i, s := range p.Shared {
			id, share := structured.MakeDeviceID(s.Device[0], s.Device[1], s.Device[2]), types.UID(fmt.Sprint(i))
			shared.Insert(structured.MakeSharedDeviceID(id, &share))
			capacity.Insert(structured.NewDeviceConsumedCapacity(id, s.Capacity))
		}
		state := structured.AllocatedState{
			AllocatedDevices: taken, AllocatedSharedDeviceIDs: shared, AggregatedCapacity: capacity,
		}
		answer := map[string]any{}
		if err := json.Unmarshal(in.Bytes(), &answer); err != nil {
			panic(err)
		}
		answer["devices"] = nil
		allocator, err := structured.NewAllocator(context.Background(), features, state, classes(p.Classes), p.Slices, cache)
		if err == nil {
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
			var results []resourceapi.AllocationResult
			results, err = allocator.Allocate(context.Background(), node, p.Claims)
			if results != nil {
				devices := []string{}
				for _, result := range results {
					for _, d := range result.Devices.Results {
						devices = append(devices, d.Request+"="+d.Device)
					}
				}
				answer["devices"] = devices
			}
		}
		if err != nil {
			answer["error"] = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
}
