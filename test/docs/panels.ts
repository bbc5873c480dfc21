// The panels of the Grafana dashboards in deploy/monitoring. In an expression, `$s` selects the scraped processes and `$r` is the
// interval of a rate.

/** One line, or one for each label value. */
export interface Query {
  readonly expr: string;
  /** For example `{{code}}`. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** How to interpret it, for the help of the panel. */
  readonly description?: string;
  /** A unit of Grafana. */
  readonly unit: 's' | 'reqps' | 'ops' | 'short' | 'bytes' | 'Bps' | 'percentunit';
  readonly queries: readonly Query[];
}

export interface Dashboard {
  readonly title: string;
  /** A metric that every process of this kind has, for selecting jobs and instances. */
  readonly metric: string;
  readonly panels: readonly Panel[];
}

const one = (
  title: string,
  unit: Panel['unit'],
  [expr, legend]: readonly [expr: string, legend: string],
  description?: string,
): Panel => ({ title, unit, queries: [{ expr, legend }], ...(description === undefined ? {} : { description }) });

const quantiles = ['0.5', '0.99'] as const;

/** The median and the 99th percentile of a histogram. */
const latency = (title: string, metric: string, by = '', description?: string): Panel => ({
  title,
  unit: 's',
  queries: quantiles.map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (${by === '' ? 'le' : `le, ${by}`}) (rate(${metric}_bucket{$s}[$r])))`,
    legend: `${by === '' ? '' : `{{${by}}} `}p${Number(quantile) * 100}`,
  })),
  ...(description === undefined ? {} : { description }),
});

/** Panels of every component. */
const overview: Dashboard = {
  title: 'Components',
  metric: 'process_start_time_seconds',
  panels: [
    one(
      'Ready',
      'short',
      ['min by (instance, part) (fairlead_part_ready{$s})', '{{instance}} {{part}}'],
      '1: the component has no problems. /readyz has the reason otherwise.',
    ),
    one('Restarts', 'short', ['sum by (instance, part) (fairlead_part_restarts{$s})', '{{instance}} {{part}}']),
    one(
      'Uncaught errors',
      'short',
      ['sum by (instance, origin) (increase(fairlead_uncaught_errors_total{$s}[$r]))', '{{instance}} {{origin}}'],
      'Each one is a bug: please report it.',
    ),
    one('Dropped log lines', 'short', [
      'sum by (instance) (increase(fairlead_log_dropped_lines_total{$s}[$r]))',
      '{{instance}}',
    ]),
    one('Requests to API servers', 'reqps', ['sum by (code) (rate(rest_client_requests_total{$s}[$r]))', '{{code}}']),
    latency('Duration of requests to API servers', 'rest_client_request_duration_seconds', 'verb'),
    one(
      'Work queues',
      'short',
      ['sum by (name) (workqueue_depth{$s})', '{{name}}'],
      'Keys that wait. A queue that only grows is stuck.',
    ),
    latency('Time in work queues', 'workqueue_queue_duration_seconds', 'name'),
    one('Retries', 'ops', ['sum by (name) (rate(workqueue_retries_total{$s}[$r]))', '{{name}}']),
    one(
      'Leaders',
      'short',
      ['sum by (name) (leader_election_master_status{$s})', '{{name}}'],
      '1: one replica leads. Replicas in `fairlead up` do not elect.',
    ),
    one('CPU', 'percentunit', ['sum by (instance) (rate(process_cpu_seconds_total{$s}[$r]))', '{{instance}}']),
    one('Memory', 'bytes', ['sum by (instance) (process_resident_memory_bytes{$s})', '{{instance}}']),
    one('Event loop lag, p99', 's', ['max by (instance) (nodejs_eventloop_lag_p99_seconds{$s})', '{{instance}}']),
    one('Open file descriptors', 'short', ['sum by (instance) (process_open_fds{$s})', '{{instance}}']),
  ],
};

const server: Dashboard = {
  title: 'API server',
  metric: 'apiserver_storage_objects',
  panels: [
    one('Requests', 'reqps', ['sum by (verb) (rate(apiserver_request_total{$s}[$r]))', '{{verb}}']),
    one('Errors', 'reqps', ['sum by (code) (rate(apiserver_request_total{$s, code=~"[45].."}[$r]))', '{{code}}']),
    latency('Duration of requests', 'apiserver_request_duration_seconds', 'verb'),
    one('Open watches', 'short', ['sum by (resource) (apiserver_longrunning_requests{$s})', '{{resource}}']),
    one('Running requests', 'short', [
      'sum by (request_kind) (apiserver_current_inflight_requests{$s})',
      '{{request_kind}}',
    ]),
    one(
      'Rejected requests',
      'reqps',
      [
        'sum by (priority_level, reason) (rate(apiserver_flowcontrol_rejected_requests_total{$s}[$r]))',
        '{{priority_level}} {{reason}}',
      ],
      'Answered with 429: a client exceeds its share.',
    ),
    latency('Time in queues', 'apiserver_flowcontrol_request_wait_duration_seconds', 'priority_level'),
    one(
      'Terminated watches',
      'ops',
      ['sum by (instance) (rate(apiserver_terminated_watchers_total{$s}[$r]))', '{{instance}}'],
      'Clients that read too slowly.',
    ),
    one('Stored objects', 'short', ['sum by (resource) (apiserver_storage_objects{$s})', '{{resource}}']),
    one('Store, share of the quota', 'percentunit', [
      'max by (instance) (etcd_mvcc_db_total_size_in_use_in_bytes{$s} / etcd_server_quota_backend_bytes{$s})',
      '{{instance}}',
    ]),
    one(
      'Store alarms',
      'short',
      ['max by (alarm) (fairlead_store_alarm{$s})', '{{alarm}}'],
      '1: see docs/how-to/recover-a-store.md.',
    ),
    one('Free cluster IPs', 'short', [
      'min by (cidr) (kube_apiserver_clusterip_allocator_available_ips{$s})',
      '{{cidr}}',
    ]),
    one('Free node ports', 'short', [
      'min by (instance) (kube_apiserver_nodeport_allocator_available_ports{$s})',
      '{{instance}}',
    ]),
    latency('Duration of webhooks', 'apiserver_admission_webhook_admission_duration_seconds', 'name'),
  ],
};

const dns: Dashboard = {
  title: 'DNS',
  metric: 'fairlead_dns_names',
  panels: [
    one('Queries', 'reqps', ['sum by (proto, type) (rate(coredns_dns_requests_total{$s}[$r]))', '{{proto}} {{type}}']),
    one('Replies', 'reqps', ['sum by (rcode) (rate(coredns_dns_responses_total{$s}[$r]))', '{{rcode}}']),
    latency('Duration of queries', 'coredns_dns_request_duration_seconds', 'zone'),
    latency('Time from a change to its answers', 'coredns_kubernetes_dns_programming_duration_seconds', 'service_kind'),
    one(
      'Age of watches',
      's',
      ['max by (resource) (fairlead_dns_watch_age_seconds{$s})', '{{resource}}'],
      'Above 300 s the server answers from old data.',
    ),
    one('Names', 'short', ['sum by (instance) (fairlead_dns_names{$s})', '{{instance}}']),
    one('Cache hits', 'percentunit', [
      'sum by (instance) (rate(coredns_cache_hits_total{$s}[$r])) / sum by (instance) (rate(coredns_cache_requests_total{$s}[$r]))',
      '{{instance}}',
    ]),
    one('Cached answers', 'short', ['sum by (type) (coredns_cache_entries{$s})', '{{type}}']),
    one('Queries to upstreams', 'reqps', ['sum by (to) (rate(coredns_forward_requests_total{$s}[$r]))', '{{to}}']),
    latency('Response time of upstreams', 'coredns_proxy_request_duration_seconds', 'to'),
    {
      title: 'Upstream failures',
      unit: 'ops',
      queries: [
        { expr: 'sum by (to) (rate(coredns_proxy_healthcheck_failures_total{$s}[$r]))', legend: '{{to}} no answer' },
        { expr: 'sum(rate(coredns_forward_healthcheck_broken_total{$s}[$r]))', legend: 'all down' },
        { expr: 'sum(rate(coredns_forward_max_concurrent_rejects_total{$s}[$r]))', legend: 'too many in flight' },
      ],
    },
    {
      title: 'Limited clients',
      unit: 'ops',
      queries: [
        { expr: 'sum(rate(coredns_shed_dropped_total{$s}[$r]))', legend: 'dropped' },
        { expr: 'sum(rate(fairlead_dns_limited_total{$s}[$r]))', legend: 'over --response-rate' },
        { expr: 'sum(rate(fairlead_dns_refused_connections_total{$s}[$r]))', legend: 'connections refused' },
      ],
    },
  ],
};

const proxy: Dashboard = {
  title: 'Proxy',
  metric: 'fairlead_proxy_routes',
  panels: [
    one('Routes', 'short', ['sum by (action) (fairlead_proxy_routes{$s})', '{{action}}']),
    {
      title: 'Routes that are not served',
      unit: 'short',
      description: 'Events `NotServed` of the Services have the reason.',
      queries: [
        { expr: 'sum by (instance) (fairlead_proxy_unopened_routes{$s})', legend: '{{instance}} no listener' },
        {
          expr: 'sum by (instance) (fairlead_proxy_displaced_routes{$s})',
          legend: '{{instance}} taken by another Service',
        },
      ],
    },
    latency('Time from a change to its routes', 'kubeproxy_network_programming_duration_seconds'),
    latency('Duration of syncs', 'kubeproxy_sync_proxy_rules_duration_seconds'),
    one('Age of the last sync', 's', [
      'time() - max by (instance) (kubeproxy_sync_proxy_rules_last_timestamp_seconds{$s})',
      '{{instance}}',
    ]),
    one('Failed syncs', 'ops', [
      'sum by (instance) (rate(kubeproxy_sync_proxy_rules_nftables_sync_failures_total{$s}[$r]))',
      '{{instance}}',
    ]),
    one(
      'Connections by outcome',
      'ops',
      ['sum by (outcome) (rate(fairlead_proxy_connections_total{$s}[$r]))', '{{outcome}}'],
      'Mode userspace only.',
    ),
    {
      title: 'Open connections and flows',
      unit: 'short',
      queries: [
        { expr: 'sum(fairlead_proxy_connections{$s})', legend: 'TCP connections' },
        { expr: 'sum(fairlead_proxy_udp_flows{$s})', legend: 'UDP flows' },
      ],
    },
    one('Endpoints that do not answer', 'ops', [
      'sum by (protocol) (rate(fairlead_proxy_dial_failures_total{$s}[$r]))',
      '{{protocol}}',
    ]),
    one('Relayed bytes', 'Bps', ['sum by (direction) (rate(fairlead_proxy_bytes_total{$s}[$r]))', '{{direction}}']),
    one('Datagrams by outcome', 'ops', [
      'sum by (outcome) (rate(fairlead_proxy_datagrams_total{$s}[$r]))',
      '{{outcome}}',
    ]),
    one('Routes of policy Local without endpoints', 'short', [
      'sum by (traffic_policy) (kubeproxy_sync_proxy_rules_no_local_endpoints_total{$s})',
      '{{traffic_policy}}',
    ]),
  ],
};

const controllers: Dashboard = {
  title: 'Controllers',
  metric: 'endpoint_slice_controller_num_endpoint_slices',
  panels: [
    {
      title: 'EndpointSlices',
      unit: 'short',
      queries: [
        { expr: 'sum(endpoint_slice_controller_num_endpoint_slices{$s})', legend: 'actual' },
        { expr: 'sum(endpoint_slice_controller_desired_endpoint_slices{$s})', legend: 'if all were full' },
      ],
    },
    one('Endpoints', 'short', ['sum(endpoint_slice_controller_endpoints_desired{$s})', 'desired']),
    one('Syncs of Services', 'ops', ['sum by (result) (rate(endpoint_slice_controller_syncs{$s}[$r]))', '{{result}}']),
    one('Changes of EndpointSlices', 'ops', [
      'sum by (operation) (rate(endpoint_slice_controller_changes{$s}[$r]))',
      '{{operation}}',
    ]),
    one('Changes of mirrored EndpointSlices', 'ops', [
      'sum by (operation) (rate(endpoint_slice_mirroring_controller_changes{$s}[$r]))',
      '{{operation}}',
    ]),
    one('Work queues', 'short', ['sum by (name) (workqueue_depth{$s})', '{{name}}']),
  ],
};

const loadbalancer: Dashboard = {
  title: 'Load balancers',
  metric: 'service_controller_loadbalancer_sync_total',
  panels: [
    one('Syncs', 'ops', [
      'sum by (instance) (rate(service_controller_loadbalancer_sync_total{$s}[$r]))',
      '{{instance}}',
    ]),
    one('Failed updates of nodes', 'ops', [
      'sum by (instance) (rate(service_controller_nodesync_error_total{$s}[$r]))',
      '{{instance}}',
    ]),
    latency('Duration of updates of nodes', 'service_controller_nodesync_latency_seconds'),
    latency('Duration of updates of one load balancer', 'service_controller_update_loadbalancer_host_latency_seconds'),
  ],
};

const multicluster: Dashboard = {
  title: 'Multi-cluster',
  metric: 'fairlead_multicluster_services',
  panels: [
    one(
      'Members that answer',
      'short',
      ['min by (cluster) (fairlead_multicluster_member_connected{$s})', '{{cluster}}'],
      '`fairlead mcs list` has the reason of a 0.',
    ),
    one('Latency of members', 's', [
      'max by (cluster) (fairlead_multicluster_member_answer_seconds{$s})',
      '{{cluster}}',
    ]),
    one(
      'Clock skew of members',
      's',
      ['max by (cluster) (fairlead_multicluster_member_clock_skew_seconds{$s})', '{{cluster}}'],
      'Timestamps decide which export is the oldest.',
    ),
    {
      title: 'Services',
      unit: 'short',
      queries: [
        { expr: 'max(fairlead_multicluster_services{$s})', legend: 'exported' },
        { expr: 'max(fairlead_multicluster_conflicts{$s})', legend: 'in conflict' },
      ],
    },
    one(
      'Services that wait for a member',
      'short',
      ['sum by (importer) (fairlead_multicluster_waiting_services{$s})', '{{importer}}'],
      '0 in the steady state.',
    ),
    latency('Time from a change until a member has it', 'fairlead_multicluster_propagation_seconds', 'importer'),
    one('Writes to members', 'ops', [
      'sum by (cluster, kind) (rate(fairlead_multicluster_writes_total{$s}[$r]))',
      '{{cluster}} {{kind}}',
    ]),
    one('Ignored exports and endpoints', 'short', [
      'sum by (cluster) (fairlead_multicluster_dropped{$s})',
      '{{cluster}}',
    ]),
    one(
      'Delayed deletions',
      'ops',
      ['sum by (importer) (rate(fairlead_multicluster_deletions_held_total{$s}[$r]))', '{{importer}}'],
      'Too many endpoints of a source vanished at once.',
    ),
    one('Members over their limit', 'short', [
      'max by (cluster) (fairlead_multicluster_member_over_limit{$s})',
      '{{cluster}}',
    ]),
    one(
      'Source clusters',
      'short',
      ['sum by (state) (fairlead_reaper_sources{$s})', '{{state}}'],
      'As the reaper sees their leases.',
    ),
    one('Age of the leases of sources', 's', [
      'max by (source) (fairlead_reaper_source_age_seconds{$s})',
      '{{source}}',
    ]),
    one('Slices deleted with a lost source', 'ops', [
      'sum by (source) (rate(fairlead_reaper_slices_removed_total{$s}[$r]))',
      '{{source}}',
    ]),
  ],
};

const publisher: Dashboard = {
  title: 'Publisher',
  metric: 'external_dns_controller_last_sync_timestamp_seconds',
  panels: [
    one(
      'Time since the last successful sync',
      's',
      ['time() - max by (instance) (external_dns_controller_last_sync_timestamp_seconds{$s})', '{{instance}}'],
      'It grows while a DNS server rejects updates or does not answer.',
    ),
    {
      title: 'Errors',
      unit: 'ops',
      queries: [
        { expr: 'sum(rate(external_dns_registry_errors_total{$s}[$r]))', legend: 'DNS servers' },
        { expr: 'sum(rate(external_dns_source_errors_total{$s}[$r]))', legend: 'API server' },
      ],
    },
    one('Changed names', 'ops', [
      'sum by (zone, change) (rate(fairlead_publisher_changes_total{$s}[$r]))',
      '{{zone}} {{change}}',
    ]),
    one('DNS messages', 'ops', [
      'sum by (instance) (rate(fairlead_publisher_dns_messages_total{$s}[$r]))',
      '{{instance}}',
    ]),
    one('Records of Services', 'short', ['max by (record_type) (external_dns_source_records{$s})', '{{record_type}}']),
    one(
      'Records of other owners',
      'short',
      ['max by (record_type) (external_dns_registry_skipped_records_owner_mismatch_per_sync{$s})', '{{record_type}}'],
      'Names that Services request and another owner has in the zone; they are not changed.',
    ),
    one('Rejected records', 'short', ['max by (instance) (external_dns_source_invalid_endpoints{$s})', '{{instance}}']),
  ],
};

/** Name of the file → the dashboard. */
export const dashboards: Readonly<Record<string, Dashboard>> = {
  components: overview,
  server,
  dns,
  proxy,
  controllers,
  loadbalancer,
  multicluster,
  publisher,
};
