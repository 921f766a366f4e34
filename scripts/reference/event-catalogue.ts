/** Every event that the operator publishes, for the reference page and for tests. */
import * as aws from '../../src/observe/events/aws.ts';
import type { EventDeclaration } from '../../src/observe/events/declaration.ts';
import * as devices from '../../src/observe/events/devices.ts';
import * as disruption from '../../src/observe/events/disruption.ts';
import * as nodeClaims from '../../src/observe/events/nodeclaims.ts';
import * as nodePools from '../../src/observe/events/nodepools.ts';
import * as nodes from '../../src/observe/events/nodes.ts';
import {
  CLOCK_SKEWED,
  conditionChanged,
  FINALIZED,
  LEADER_ELECTION,
  MEMORY_SHORT,
} from '../../src/observe/events/objects.ts';
import * as pods from '../../src/observe/events/pods.ts';

interface EventArea {
  readonly title: string;
  readonly events: readonly EventDeclaration[];
}

export const EVENT_AREAS: readonly EventArea[] = [
  { title: 'Pods', events: Object.values(pods) },
  { title: 'NodePools', events: Object.values(nodePools) },
  { title: 'NodeClaims', events: Object.values(nodeClaims) },
  { title: 'Nodes', events: Object.values(nodes) },
  { title: 'Devices', events: Object.values(devices) },
  { title: 'Disruption', events: Object.values(disruption) },
  { title: 'EC2', events: Object.values(aws) },
  {
    title: 'Any object',
    events: [conditionChanged('CONDITION'), FINALIZED, LEADER_ELECTION, CLOCK_SKEWED, MEMORY_SHORT],
  },
];

export const EVENTS: readonly EventDeclaration[] = EVENT_AREAS.flatMap(({ events }) => events);
