/** Requests at which operators are killed, either before the request arrives or after the response is sent. */
import type { CrashPoint } from './crashable-operator.ts';
import type { Moment, SeenRequest } from './cuttable-proxy.ts';

/** Returns a crash point for the matching requests at this moment. */
export const at =
  (wanted: Moment, matches: (request: SeenRequest) => boolean): CrashPoint =>
  (request, moment) =>
    moment === wanted && matches(request);

export const taints = ({ method, url, body }: SeenRequest): boolean =>
  method === 'PATCH' && url.startsWith('/api/v1/nodes/') && body.includes('karpenter.sh/disrupted');
export const untaints = ({ method, url, body }: SeenRequest, node: string): boolean =>
  method === 'PATCH' && url.startsWith(`/api/v1/nodes/${node}`) && /"taints":(null|\[\])/.test(body);
export const tellsReason = ({ method, url, body }: SeenRequest): boolean =>
  method === 'PATCH' && /\/nodeclaims\/[^/]+\/status/.test(url) && body.includes('DisruptionReason');
export const considers = ({ method, url, body }: SeenRequest): boolean =>
  method === 'POST' && url.includes('/events') && body.includes('"ConsolidationCandidate"');
export const creates = ({ method, url }: SeenRequest): boolean => method === 'POST' && /\/nodeclaims(\?|$)/.test(url);
export const launches = ({ body }: SeenRequest): boolean => body.includes('Action=CreateFleet');
export const deletes = ({ method, url }: SeenRequest): boolean => method === 'DELETE' && url.includes('/nodeclaims/');
export const deletesNode = ({ method, url }: SeenRequest): boolean =>
  method === 'DELETE' && url.startsWith('/api/v1/nodes/');
export const evicts = ({ method, url }: SeenRequest): boolean => method === 'POST' && url.includes('/eviction');
export const terminates = ({ body }: SeenRequest): boolean => body.includes('Action=TerminateInstances');
export const releases = ({ method, url, body }: SeenRequest): boolean =>
  method === 'PATCH' && url.includes('/nodeclaims/') && /"finalizers":(null|\[\])/.test(body);
