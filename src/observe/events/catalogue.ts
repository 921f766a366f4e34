/** Every event that the operator publishes, for tests and for the reference page. */
import * as aws from './aws.ts';
import type { EventDeclaration } from './declaration.ts';
import * as devices from './devices.ts';
import * as disruption from './disruption.ts';
import * as nodeClaims from './nodeclaims.ts';
import * as nodePools from './nodepools.ts';
import * as nodes from './nodes.ts';
import { CLOCK_SKEWED, conditionChanged, FINALIZED, LEADER_ELECTION } from './objects.ts';
import * as pods from './pods.ts';

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
  { title: 'Any object', events: [conditionChanged('CONDITION'), FINALIZED, LEADER_ELECTION, CLOCK_SKEWED] },
];

export const EVENTS: readonly EventDeclaration[] = EVENT_AREAS.flatMap(({ events }) => events);
