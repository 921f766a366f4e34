export { problemOf } from '../answers/checks.ts';
export { NEEDS } from '../answers/needs.ts';
export { type Call, UnusableAnswer } from '../answers/unusable.ts';
export { type ClientOptions, type Clients, clientsIn, type ServiceEndpoints } from '../clients.ts';
