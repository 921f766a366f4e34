import { own } from '../../../api/own.ts';
import { podRequests } from './amounts.ts';
import type { Filter } from './view.ts';

/** Requests within what is left of the node, the number of pods included. Every shortage is reported. */
export const resourcesFit: Filter = (pod) => {
  const requests = Object.entries(podRequests(pod)).filter(([, amount]) => amount > 0);
  return ({ allocatable, requested }) => {
    const short = requests
      .filter(([name, amount]) => amount > (own(allocatable, name) ?? 0) - (own(requested, name) ?? 0))
      .map(([name]) => (name === 'pods' ? 'Too many pods' : `Insufficient ${name}`));
    return short.length > 0 ? short : undefined;
  };
};
