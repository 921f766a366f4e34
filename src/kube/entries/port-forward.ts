export { type ForwardedPort, forwardPort } from '../port-forward.ts';
