export { connect, connectReader, type HttpKubeClient, type HttpKubeReader, type RawRequest } from '../http.ts';
export { type ConnectionOptions, exportContext } from '../kubeconfig.ts';
export { catchUp, type LeadOptions, lead } from '../lead.ts';
export { ServerClock } from '../server-clock.ts';
export { serverVersion } from '../server-facts.ts';
