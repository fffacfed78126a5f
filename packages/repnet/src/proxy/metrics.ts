/**
 * Counters of the proxy and of repnet in the text format of Prometheus (version 0.0.4).
 */

export class RouteMetrics {
  /** Number of accepted flows. */
  flows = 0;
  /** Number of flows that are open now. */
  active = 0;
  /** Number of bytes from the accepted sockets, for flows that have ended. */
  bytesIn = 0;
  /** Number of bytes from the target, for flows that have ended. */
  bytesOut = 0;
  /** Number of flows that ended with an error of the accepted socket. */
  acceptedErrors = 0;
  /** Number of flows that ended with an error of the target, such as a refused connection. */
  targetErrors = 0;
  /** Number of flows that were reset at the end of the drain time. */
  cut = 0;

  constructor(readonly route: string) {}
}

interface Family {
  name: string;
  type: 'counter' | 'gauge';
  help: string;
  value: (metrics: RouteMetrics) => number;
}

const FAMILIES: Family[] = [
  { name: 'repnet_proxy_flows_total', type: 'counter', help: 'Flows accepted.', value: (m) => m.flows },
  { name: 'repnet_proxy_flows_active', type: 'gauge', help: 'Flows open now.', value: (m) => m.active },
  {
    name: 'repnet_proxy_bytes_in_total',
    type: 'counter',
    help: 'Payload bytes from the accepted side, of ended flows.',
    value: (m) => m.bytesIn,
  },
  {
    name: 'repnet_proxy_bytes_out_total',
    type: 'counter',
    help: 'Payload bytes from the target, of ended flows.',
    value: (m) => m.bytesOut,
  },
  {
    name: 'repnet_proxy_accepted_errors_total',
    type: 'counter',
    help: 'Flows ended by an error of the accepted side.',
    value: (m) => m.acceptedErrors,
  },
  {
    name: 'repnet_proxy_target_errors_total',
    type: 'counter',
    help: 'Flows ended by an error of the target.',
    value: (m) => m.targetErrors,
  },
  { name: 'repnet_proxy_cut_total', type: 'counter', help: 'Flows reset at shutdown.', value: (m) => m.cut },
];

function labelValue(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function snake(name: string): string {
  return name
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

/**
 * Returns the numbers of a nested object as samples.
 * For example, `{ flows: { live: 1 } }` becomes `repnet_flows{kind="live"} 1`. The name of a list's entry is its index.
 */
function snapshotSamples(snapshot: object, family = 'repnet'): string[] {
  const lines: string[] = [];
  const inner: string[] = [];
  for (const [key, value] of Object.entries(snapshot)) {
    const name = `${family}_${snake(key)}`;
    if (typeof value === 'object' && value !== null) inner.push(...snapshotSamples(value, name));
    else if (typeof value !== 'number') continue;
    else if (family === 'repnet') lines.push(`# TYPE ${name} untyped`, `${name} ${value}`);
    else lines.push(`${family}{kind="${labelValue(snake(key))}"} ${value}`);
  }
  if (family !== 'repnet' && lines.length > 0) lines.unshift(`# TYPE ${family} untyped`);
  return [...lines, ...inner];
}

/** Returns the page with all metrics. `snapshot` is a result of `repnet.stats()`. */
export function render(routes: RouteMetrics[], snapshot: object): string {
  const lines: string[] = [];
  for (const family of FAMILIES) {
    lines.push(`# HELP ${family.name} ${family.help}`, `# TYPE ${family.name} ${family.type}`);
    for (const metrics of routes) lines.push(`${family.name}{route="${labelValue(metrics.route)}"} ${family.value(metrics)}`);
  }
  lines.push(...snapshotSamples(snapshot));
  return `${lines.join('\n')}\n`;
}
