/** Program of the command line: `karpenter` and `kubectl karpenter`. */
export { main } from '#cli/command-line';
