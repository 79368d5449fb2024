--
-- PostgreSQL database dump
--

\restrict frozen

-- Dumped from database version 18.4
-- Dumped by pg_dump version 18.4

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: fulfilled_by(text); Type: FUNCTION; Schema: public; Owner: owner
--

CREATE FUNCTION public.fulfilled_by(wanted_order text) RETURNS text
    LANGUAGE sql
    AS $$select message_id from fulfillment where order_id = wanted_order$$;


ALTER FUNCTION public.fulfilled_by(wanted_order text) OWNER TO owner;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: alembic_version; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);


ALTER TABLE public.alembic_version OWNER TO owner;

--
-- Name: batch_position; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.batch_position (
    topic text NOT NULL,
    partition integer NOT NULL,
    "offset" bigint NOT NULL
);


ALTER TABLE public.batch_position OWNER TO owner;

--
-- Name: dead_letter; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.dead_letter (
    topic text NOT NULL,
    partition integer NOT NULL,
    "offset" bigint NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    CONSTRAINT dead_letter_kind_check CHECK ((kind = ANY (ARRAY['invalid'::text, 'conflict'::text, 'too_large'::text])))
);


ALTER TABLE public.dead_letter OWNER TO owner;

--
-- Name: fence; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.fence (
    subscriber text NOT NULL,
    message_id text NOT NULL,
    token bigint NOT NULL,
    done boolean NOT NULL,
    touched_at timestamp with time zone DEFAULT now() NOT NULL
);


ALTER TABLE public.fence OWNER TO owner;

--
-- Name: fulfillment; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.fulfillment (
    order_id text NOT NULL,
    fulfillment_id uuid NOT NULL,
    message_id text NOT NULL,
    customer_id text NOT NULL,
    placed_at timestamp with time zone NOT NULL,
    lines json NOT NULL,
    total numeric NOT NULL,
    CONSTRAINT fulfillment_order_id_check CHECK (((char_length(order_id) >= 1) AND (char_length(order_id) <= 64)))
);


ALTER TABLE public.fulfillment OWNER TO owner;

--
-- Name: heartbeat; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.heartbeat (
    only_row boolean DEFAULT true NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT heartbeat_only_row_check CHECK (only_row)
);


ALTER TABLE public.heartbeat OWNER TO owner;

--
-- Name: open_batch; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.open_batch (
    topic text NOT NULL,
    partition integer NOT NULL,
    "offset" bigint NOT NULL,
    batch_id text NOT NULL,
    complete_offset bigint,
    begun_at timestamp with time zone DEFAULT now() NOT NULL,
    looked_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT open_batch_batch_id_check CHECK (((char_length(batch_id) >= 1) AND (char_length(batch_id) <= 64)))
);


ALTER TABLE public.open_batch OWNER TO owner;

--
-- Name: order_state; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.order_state (
    subscriber text NOT NULL,
    order_id text NOT NULL,
    message_ids text[] DEFAULT '{}'::text[] NOT NULL,
    touched_at timestamp with time zone DEFAULT now() NOT NULL
);


ALTER TABLE public.order_state OWNER TO owner;

--
-- Name: order_version; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.order_version (
    subscriber text NOT NULL,
    order_id text NOT NULL,
    version text NOT NULL COLLATE pg_catalog."C",
    touched_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT order_version_version_check CHECK ((char_length(version) = 18))
);


ALTER TABLE public.order_version OWNER TO owner;

--
-- Name: outbox; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.outbox (
    seq bigint NOT NULL,
    event_id uuid NOT NULL,
    aggregate_type text NOT NULL,
    aggregate_id text NOT NULL,
    event_type text NOT NULL,
    payload json NOT NULL,
    traceparent text NOT NULL,
    specversion text DEFAULT '1.0'::text NOT NULL,
    occurred_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT outbox_aggregate_id_check CHECK ((octet_length(aggregate_id) <= 512)),
    CONSTRAINT outbox_aggregate_type_check CHECK ((aggregate_type = ANY (ARRAY['fulfillment'::text, 'rejection'::text, 'dead-letter'::text, 'batch-total'::text]))),
    CONSTRAINT outbox_payload_check CHECK ((octet_length((payload)::text) <= 262144))
);


ALTER TABLE public.outbox OWNER TO owner;

--
-- Name: outbox_seq_seq; Type: SEQUENCE; Schema: public; Owner: owner
--

ALTER TABLE public.outbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: tracking; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.tracking (
    subscriber text NOT NULL,
    message_id text NOT NULL,
    value_sha256 bytea NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    "offset" bigint NOT NULL,
    audited_at timestamp with time zone,
    audit_error text,
    handled_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT tracking_message_id_check CHECK (((char_length(message_id) >= 1) AND (char_length(message_id) <= 64))),
    CONSTRAINT tracking_value_sha256_check CHECK ((octet_length(value_sha256) = 32))
);


ALTER TABLE public.tracking OWNER TO owner;

--
-- Name: watermark; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.watermark (
    subscriber text NOT NULL,
    topic text NOT NULL,
    partition integer NOT NULL,
    sequence bigint NOT NULL
);


ALTER TABLE public.watermark OWNER TO owner;

--
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.alembic_version VALUES ('0002');


--
-- Data for Name: batch_position; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.batch_position VALUES ('batch.events', 0, 1);
INSERT INTO public.batch_position VALUES ('batch.events', 1, 1);
INSERT INTO public.batch_position VALUES ('batch.events', 2, 4);


--
-- Data for Name: dead_letter; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.dead_letter VALUES ('order.events', 1, 7, 'invalid', 'value: Unterminated string starting at: line 1 column 254 (char 253)');
INSERT INTO public.dead_letter VALUES ('order.events', 1, 9, 'conflict', 'message_id: already seen with another value');
INSERT INTO public.dead_letter VALUES ('batch.events', 1, 0, 'invalid', 'value: Expecting value: line 1 column 1 (char 0)');


--
-- Data for Name: fence; Type: TABLE DATA; Schema: public; Owner: owner
--



--
-- Data for Name: fulfillment; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.fulfillment VALUES ('v01-o0', 'e39281c5-8339-5b2e-acf9-6fe256486ec0', 'v01-0', 'c-242', '2026-11-21 10:00:00+00', '[{"sku":"茶","quantity":5,"unit_price":"19.31"},{"sku":"tea","quantity":8,"unit_price":"73.64"}]', 685.67);
INSERT INTO public.fulfillment VALUES ('v01-o1', '128fe7ff-5e5e-5a91-a7f9-cb22a3efe2be', 'v01-1', 'c-12', '2026-11-21 10:00:01+00', '[{"sku":"kettle","quantity":8,"unit_price":"43.63"},{"sku":"茶","quantity":12,"unit_price":"37.48"},{"sku":"tea","quantity":10,"unit_price":"16.74"},{"sku":"mug","quantity":6,"unit_price":"5.01"}]', 996.26);
INSERT INTO public.fulfillment VALUES ('v01-o10', 'b8b0ef1b-7144-55f7-83a7-a84776723124', 'v01-10', 'c-57', '2026-11-21 10:00:10+00', '[{"sku":"mug","quantity":4,"unit_price":"44.01"}]', 176.04);
INSERT INTO public.fulfillment VALUES ('v01-o11', '70255468-a0ae-5533-85d2-7597cf9d9282', 'v01-11', 'c-59', '2026-11-21 10:00:11+00', '[{"sku":"茶","quantity":11,"unit_price":"48.24"},{"sku":"café","quantity":8,"unit_price":"52.75"},{"sku":"mug","quantity":8,"unit_price":"77.62"}]', 1573.60);
INSERT INTO public.fulfillment VALUES ('v01-o12', 'aae43ae7-92c5-53de-beb5-81b75eb631f2', 'v01-12', 'c-108', '2026-11-21 10:00:12+00', '[{"sku":"mug","quantity":12,"unit_price":"83.57"}]', 1002.84);
INSERT INTO public.fulfillment VALUES ('v01-o13', '38a38ae3-c235-5745-8ae3-eb114919bed6', 'v01-13', 'c-231', '2026-11-21 10:00:13+00', '[{"sku":"café","quantity":12,"unit_price":"82.95"},{"sku":"tea","quantity":11,"unit_price":"69.90"},{"sku":"biscuits","quantity":9,"unit_price":"36.14"},{"sku":"kettle","quantity":11,"unit_price":"84.63"}]', 3020.49);
INSERT INTO public.fulfillment VALUES ('v01-o14', 'b7ba3658-4d58-5212-abe0-16d9640a10d1', 'v01-14', 'c-37', '2026-11-21 10:00:14+00', '[{"sku":"biscuits","quantity":12,"unit_price":"48.92"},{"sku":"kettle","quantity":3,"unit_price":"34.75"},{"sku":"tea","quantity":1,"unit_price":"50.19"}]', 741.48);
INSERT INTO public.fulfillment VALUES ('v01-o15', 'c90399b6-879e-5375-be34-7a9b4ec7d7b4', 'v01-15', 'c-20', '2026-11-21 10:00:15+00', '[{"sku":"茶","quantity":9,"unit_price":"6.21"},{"sku":"mug","quantity":10,"unit_price":"35.65"},{"sku":"café","quantity":10,"unit_price":"75.50"},{"sku":"tea","quantity":3,"unit_price":"83.37"}]', 1417.50);
INSERT INTO public.fulfillment VALUES ('v01-o16', 'f5290839-1308-5809-93ec-ae1471b8a680', 'v01-16', 'c-461', '2026-11-21 10:00:16+00', '[{"sku":"茶","quantity":11,"unit_price":"63.90"},{"sku":"café","quantity":5,"unit_price":"82.59"},{"sku":"kettle","quantity":8,"unit_price":"2.81"},{"sku":"tea","quantity":6,"unit_price":"65.91"}]', 1533.79);
INSERT INTO public.fulfillment VALUES ('v01-o17', '122dda56-597e-5fa9-8e05-24d892d00a15', 'v01-17', 'c-429', '2026-11-21 10:00:17+00', '[{"sku":"mug","quantity":4,"unit_price":"43.66"},{"sku":"kettle","quantity":11,"unit_price":"15.79"}]', 348.33);
INSERT INTO public.fulfillment VALUES ('v01-o18', '8b66925a-19a1-5568-aa7c-5f6b600fed31', 'v01-18', 'c-389', '2026-11-21 10:00:18+00', '[{"sku":"茶","quantity":1,"unit_price":"13.87"},{"sku":"café","quantity":3,"unit_price":"27.80"},{"sku":"tea","quantity":3,"unit_price":"88.18"},{"sku":"mug","quantity":4,"unit_price":"43.91"}]', 537.45);
INSERT INTO public.fulfillment VALUES ('v01-o19', 'a1e59c29-6b54-5b26-bb91-915ee7cb8cef', 'v01-19', 'c-400', '2026-11-21 10:00:19+00', '[{"sku":"mug","quantity":4,"unit_price":"98.95"}]', 395.80);
INSERT INTO public.fulfillment VALUES ('v01-o2', '1c44e024-6f7b-593f-80fa-87e51439db52', 'v01-2', 'c-284', '2026-11-21 10:00:02+00', '[{"sku":"kettle","quantity":9,"unit_price":"36.32"},{"sku":"tea","quantity":8,"unit_price":"81.23"}]', 976.72);
INSERT INTO public.fulfillment VALUES ('v01-o3', 'c6306cc5-834c-5b03-9ace-35eb61d98cea', 'v01-3', 'c-480', '2026-11-21 10:00:03+00', '[{"sku":"tea","quantity":3,"unit_price":"48.56"},{"sku":"kettle","quantity":2,"unit_price":"54.50"},{"sku":"biscuits","quantity":12,"unit_price":"82.05"}]', 1239.28);
INSERT INTO public.fulfillment VALUES ('v01-o4', '9e859492-b5d9-593e-ac8f-2fd58e66d909', 'v01-4', 'c-213', '2026-11-21 10:00:04+00', '[{"sku":"茶","quantity":10,"unit_price":"5.65"},{"sku":"kettle","quantity":8,"unit_price":"39.77"},{"sku":"biscuits","quantity":12,"unit_price":"66.23"}]', 1169.42);
INSERT INTO public.fulfillment VALUES ('v01-o5', '310612ad-34b1-522a-b6cd-ab2dd211c36d', 'v01-5', 'c-241', '2026-11-21 10:00:05+00', '[{"sku":"tea","quantity":3,"unit_price":"85.35"},{"sku":"kettle","quantity":7,"unit_price":"60.70"},{"sku":"biscuits","quantity":8,"unit_price":"4.84"}]', 719.67);
INSERT INTO public.fulfillment VALUES ('v01-o6', '371e1aa5-b9d8-517c-8e39-e2c9092bf545', 'v01-6', 'c-177', '2026-11-21 10:00:06+00', '[{"sku":"biscuits","quantity":4,"unit_price":"2.01"},{"sku":"café","quantity":4,"unit_price":"88.41"},{"sku":"茶","quantity":9,"unit_price":"38.03"},{"sku":"mug","quantity":7,"unit_price":"84.17"}]', 1293.14);
INSERT INTO public.fulfillment VALUES ('v01-o7', '193282c6-3177-5cc2-aa80-784136da8498', 'v01-7', 'c-415', '2026-11-21 10:00:07+00', '[{"sku":"kettle","quantity":12,"unit_price":"83.96"}]', 1007.52);
INSERT INTO public.fulfillment VALUES ('v01-o8', '543762bb-561d-5618-bc64-19f4a2d86729', 'v01-8', 'c-320', '2026-11-21 10:00:08+00', '[{"sku":"mug","quantity":7,"unit_price":"79.45"},{"sku":"茶","quantity":6,"unit_price":"67.89"},{"sku":"café","quantity":6,"unit_price":"0.25"},{"sku":"biscuits","quantity":9,"unit_price":"88.49"}]', 1761.40);
INSERT INTO public.fulfillment VALUES ('v01-o9', '752481d7-c54f-5af5-a683-415a6cfa7d99', 'v01-9', 'c-17', '2026-11-21 10:00:09+00', '[{"sku":"茶","quantity":3,"unit_price":"15.00"},{"sku":"biscuits","quantity":9,"unit_price":"41.82"}]', 421.38);


--
-- Data for Name: heartbeat; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.heartbeat VALUES (true, '2026-11-22 16:27:39.262904+00');


--
-- Data for Name: open_batch; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.open_batch VALUES ('batch.events', 0, 0, 'b2', NULL, '2026-11-22 16:26:21.903303+00', '2026-11-22 16:26:21.903303+00');


--
-- Data for Name: order_state; Type: TABLE DATA; Schema: public; Owner: owner
--



--
-- Data for Name: order_version; Type: TABLE DATA; Schema: public; Owner: owner
--



--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (1, '19e9d324-9710-57af-b413-6425539843dd', 'fulfillment', 'v01-o14', 'order-fulfilled', '{"message_id":"v01-14","order_id":"v01-o14","fulfillment_id":"b7ba3658-4d58-5212-abe0-16d9640a10d1","customer_id":"c-37","placed_at":"2026-11-21T10:00:14Z","lines":[{"sku":"biscuits","quantity":12,"unit_price":"48.92"},{"sku":"kettle","quantity":3,"unit_price":"34.75"},{"sku":"tea","quantity":1,"unit_price":"50.19"}],"total":"741.48"}', '00-19e9d324971057afb4136425539843dd-19e9d324971057af-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (2, '201d59a3-3d0c-5f7e-bf32-18993b71024f', 'fulfillment', 'v01-o15', 'order-fulfilled', '{"message_id":"v01-15","order_id":"v01-o15","fulfillment_id":"c90399b6-879e-5375-be34-7a9b4ec7d7b4","customer_id":"c-20","placed_at":"2026-11-21T10:00:15Z","lines":[{"sku":"茶","quantity":9,"unit_price":"6.21"},{"sku":"mug","quantity":10,"unit_price":"35.65"},{"sku":"café","quantity":10,"unit_price":"75.50"},{"sku":"tea","quantity":3,"unit_price":"83.37"}],"total":"1417.50"}', '00-92c9357d34accd781959b9ef58d07675-e585552fac954ab5-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (3, '602b653e-f181-5a33-a385-44898eee87d3', 'fulfillment', 'v01-o19', 'order-fulfilled', '{"message_id":"v01-19","order_id":"v01-o19","fulfillment_id":"a1e59c29-6b54-5b26-bb91-915ee7cb8cef","customer_id":"c-400","placed_at":"2026-11-21T10:00:19Z","lines":[{"sku":"mug","quantity":4,"unit_price":"98.95"}],"total":"395.80"}', '00-947810d822a608bf7d2186d3e323ce55-c52f4fbe8d19821f-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (4, '7d7a7cf8-f71a-5d03-924c-587d0dfefd57', 'fulfillment', 'v01-o3', 'order-fulfilled', '{"message_id":"v01-3","order_id":"v01-o3","fulfillment_id":"c6306cc5-834c-5b03-9ace-35eb61d98cea","customer_id":"c-480","placed_at":"2026-11-21T10:00:03Z","lines":[{"sku":"tea","quantity":3,"unit_price":"48.56"},{"sku":"kettle","quantity":2,"unit_price":"54.50"},{"sku":"biscuits","quantity":12,"unit_price":"82.05"}],"total":"1239.28"}', '00-ab99254ae901e35cd47d380d81f9c1f7-4da98f1d3099fdf5-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (5, '464b204e-3260-5851-ab12-0b67929ea5fb', 'fulfillment', 'v01-o5', 'order-fulfilled', '{"message_id":"v01-5","order_id":"v01-o5","fulfillment_id":"310612ad-34b1-522a-b6cd-ab2dd211c36d","customer_id":"c-241","placed_at":"2026-11-21T10:00:05Z","lines":[{"sku":"tea","quantity":3,"unit_price":"85.35"},{"sku":"kettle","quantity":7,"unit_price":"60.70"},{"sku":"biscuits","quantity":8,"unit_price":"4.84"}],"total":"719.67"}', '00-9d643c25fbb230bbd92a4aa2b410d93d-9403560d97dae38d-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (6, '2ab1557a-e6e1-50b5-a873-6f717bfd0071', 'fulfillment', 'v01-o6', 'order-fulfilled', '{"message_id":"v01-6","order_id":"v01-o6","fulfillment_id":"371e1aa5-b9d8-517c-8e39-e2c9092bf545","customer_id":"c-177","placed_at":"2026-11-21T10:00:06Z","lines":[{"sku":"biscuits","quantity":4,"unit_price":"2.01"},{"sku":"café","quantity":4,"unit_price":"88.41"},{"sku":"茶","quantity":9,"unit_price":"38.03"},{"sku":"mug","quantity":7,"unit_price":"84.17"}],"total":"1293.14"}', '00-2ab1557ae6e150b5a8736f717bfd0071-2ab1557ae6e150b5-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (7, 'f6c0c349-0e8c-5cf9-a1a9-fe4407e34cdc', 'fulfillment', 'v01-o7', 'order-fulfilled', '{"message_id":"v01-7","order_id":"v01-o7","fulfillment_id":"193282c6-3177-5cc2-aa80-784136da8498","customer_id":"c-415","placed_at":"2026-11-21T10:00:07Z","lines":[{"sku":"kettle","quantity":12,"unit_price":"83.96"}],"total":"1007.52"}', '00-6d14475b349aae908fb5262cc7038069-0e5e18baf320cd57-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (8, 'beb4de57-1006-550f-bf9f-502ce9706559', 'fulfillment', 'v01-o8', 'order-fulfilled', '{"message_id":"v01-8","order_id":"v01-o8","fulfillment_id":"543762bb-561d-5618-bc64-19f4a2d86729","customer_id":"c-320","placed_at":"2026-11-21T10:00:08Z","lines":[{"sku":"mug","quantity":7,"unit_price":"79.45"},{"sku":"茶","quantity":6,"unit_price":"67.89"},{"sku":"café","quantity":6,"unit_price":"0.25"},{"sku":"biscuits","quantity":9,"unit_price":"88.49"}],"total":"1761.40"}', '00-beb4de571006550fbf9f502ce9706559-beb4de571006550f-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (9, '91ea769f-1f26-59e9-a7ea-e18f839554c4', 'fulfillment', 'v01-o9', 'order-fulfilled', '{"message_id":"v01-9","order_id":"v01-o9","fulfillment_id":"752481d7-c54f-5af5-a683-415a6cfa7d99","customer_id":"c-17","placed_at":"2026-11-21T10:00:09Z","lines":[{"sku":"茶","quantity":3,"unit_price":"15.00"},{"sku":"biscuits","quantity":9,"unit_price":"41.82"}],"total":"421.38"}', '00-de3a5db5154ed51212093d26ac512b01-73f7ba8e0445d657-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (10, '6ca97718-972e-5f45-84cb-205de06aab23', 'fulfillment', 'v01-o10', 'order-fulfilled', '{"message_id":"v01-10","order_id":"v01-o10","fulfillment_id":"b8b0ef1b-7144-55f7-83a7-a84776723124","customer_id":"c-57","placed_at":"2026-11-21T10:00:10Z","lines":[{"sku":"mug","quantity":4,"unit_price":"44.01"}],"total":"176.04"}', '00-6ca97718972e5f4584cb205de06aab23-6ca97718972e5f45-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (11, 'd1285878-98e5-5cdf-ac92-62d3cba2dfca', 'fulfillment', 'v01-o11', 'order-fulfilled', '{"message_id":"v01-11","order_id":"v01-o11","fulfillment_id":"70255468-a0ae-5533-85d2-7597cf9d9282","customer_id":"c-59","placed_at":"2026-11-21T10:00:11Z","lines":[{"sku":"茶","quantity":11,"unit_price":"48.24"},{"sku":"café","quantity":8,"unit_price":"52.75"},{"sku":"mug","quantity":8,"unit_price":"77.62"}],"total":"1573.60"}', '00-cbd3f5e06bc1538557e54acc62f5680d-4227de213023580d-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (12, 'd3041d4d-6481-5f9b-9569-abf5c57181e7', 'fulfillment', 'v01-o17', 'order-fulfilled', '{"message_id":"v01-17","order_id":"v01-o17","fulfillment_id":"122dda56-597e-5fa9-8e05-24d892d00a15","customer_id":"c-429","placed_at":"2026-11-21T10:00:17Z","lines":[{"sku":"mug","quantity":4,"unit_price":"43.66"},{"sku":"kettle","quantity":11,"unit_price":"15.79"}],"total":"348.33"}', '00-e1e48557ea190b2a58068a9d8c31406d-afe673f6d6730839-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (13, '9933e165-995b-54e1-94e0-b087d857f77b', 'fulfillment', 'v01-o18', 'order-fulfilled', '{"message_id":"v01-18","order_id":"v01-o18","fulfillment_id":"8b66925a-19a1-5568-aa7c-5f6b600fed31","customer_id":"c-389","placed_at":"2026-11-21T10:00:18Z","lines":[{"sku":"茶","quantity":1,"unit_price":"13.87"},{"sku":"café","quantity":3,"unit_price":"27.80"},{"sku":"tea","quantity":3,"unit_price":"88.18"},{"sku":"mug","quantity":4,"unit_price":"43.91"}],"total":"537.45"}', '00-9933e165995b54e194e0b087d857f77b-9933e165995b54e1-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (14, '11a31f50-4aa8-5b17-ad20-155457d18503', 'fulfillment', 'v01-o0', 'order-fulfilled', '{"message_id":"v01-0","order_id":"v01-o0","fulfillment_id":"e39281c5-8339-5b2e-acf9-6fe256486ec0","customer_id":"c-242","placed_at":"2026-11-21T10:00:00Z","lines":[{"sku":"茶","quantity":5,"unit_price":"19.31"},{"sku":"tea","quantity":8,"unit_price":"73.64"}],"total":"685.67"}', '00-11a31f504aa85b17ad20155457d18503-11a31f504aa85b17-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (15, 'ff86db9d-079b-5888-8cef-bbdae187b565', 'fulfillment', 'v01-o1', 'order-fulfilled', '{"message_id":"v01-1","order_id":"v01-o1","fulfillment_id":"128fe7ff-5e5e-5a91-a7f9-cb22a3efe2be","customer_id":"c-12","placed_at":"2026-11-21T10:00:01Z","lines":[{"sku":"kettle","quantity":8,"unit_price":"43.63"},{"sku":"茶","quantity":12,"unit_price":"37.48"},{"sku":"tea","quantity":10,"unit_price":"16.74"},{"sku":"mug","quantity":6,"unit_price":"5.01"}],"total":"996.26"}', '00-e1988ad9f06c144a025b413f8a9a021f-afbd67f9619699cf-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (16, '81bfc7ac-729a-5212-bd6c-1e27d018cb56', 'fulfillment', 'v01-o2', 'order-fulfilled', '{"message_id":"v01-2","order_id":"v01-o2","fulfillment_id":"1c44e024-6f7b-593f-80fa-87e51439db52","customer_id":"c-284","placed_at":"2026-11-21T10:00:02Z","lines":[{"sku":"kettle","quantity":9,"unit_price":"36.32"},{"sku":"tea","quantity":8,"unit_price":"81.23"}],"total":"976.72"}', '00-81bfc7ac729a5212bd6c1e27d018cb56-81bfc7ac729a5212-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (17, 'cc407aee-3885-54ac-ad06-3ae0175d1519', 'fulfillment', 'v01-o4', 'order-fulfilled', '{"message_id":"v01-4","order_id":"v01-o4","fulfillment_id":"9e859492-b5d9-593e-ac8f-2fd58e66d909","customer_id":"c-213","placed_at":"2026-11-21T10:00:04Z","lines":[{"sku":"茶","quantity":10,"unit_price":"5.65"},{"sku":"kettle","quantity":8,"unit_price":"39.77"},{"sku":"biscuits","quantity":12,"unit_price":"66.23"}],"total":"1169.42"}', '00-cc407aee388554acad063ae0175d1519-cc407aee388554ac-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (18, 'd47125f7-7758-57d6-9044-1cfe5096d4ae', 'fulfillment', 'v01-o12', 'order-fulfilled', '{"message_id":"v01-12","order_id":"v01-o12","fulfillment_id":"aae43ae7-92c5-53de-beb5-81b75eb631f2","customer_id":"c-108","placed_at":"2026-11-21T10:00:12Z","lines":[{"sku":"mug","quantity":12,"unit_price":"83.57"}],"total":"1002.84"}', '00-d47125f7775857d690441cfe5096d4ae-d47125f7775857d6-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (19, '941dfa1e-b795-5c34-8b91-75b0b4ce9df6', 'fulfillment', 'v01-o13', 'order-fulfilled', '{"message_id":"v01-13","order_id":"v01-o13","fulfillment_id":"38a38ae3-c235-5745-8ae3-eb114919bed6","customer_id":"c-231","placed_at":"2026-11-21T10:00:13Z","lines":[{"sku":"café","quantity":12,"unit_price":"82.95"},{"sku":"tea","quantity":11,"unit_price":"69.90"},{"sku":"biscuits","quantity":9,"unit_price":"36.14"},{"sku":"kettle","quantity":11,"unit_price":"84.63"}],"total":"3020.49"}', '00-acc66a576518093d07dbf924a6048457-cdaaac43936aa40d-01', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (20, '4e9f8e42-96a8-596f-8e36-ada97f57b50d', 'fulfillment', 'v01-o16', 'order-fulfilled', '{"message_id":"v01-16","order_id":"v01-o16","fulfillment_id":"f5290839-1308-5809-93ec-ae1471b8a680","customer_id":"c-461","placed_at":"2026-11-21T10:00:16Z","lines":[{"sku":"茶","quantity":11,"unit_price":"63.90"},{"sku":"café","quantity":5,"unit_price":"82.59"},{"sku":"kettle","quantity":8,"unit_price":"2.81"},{"sku":"tea","quantity":6,"unit_price":"65.91"}],"total":"1533.79"}', '00-4e9f8e4296a8596f8e36ada97f57b50d-4e9f8e4296a8596f-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (21, '3b2f5e9f-7669-5680-94e4-887a05010792', 'dead-letter', 'order.events/1/7', 'record-dead-lettered', '{"topic":"order.events","partition":1,"offset":7,"kind":"invalid","reason":"value: Unterminated string starting at: line 1 column 254 (char 253)","key":"djAxLW80","value":"eyJvcmRlcl9pZCI6ICJ2MDEtbzQiLCAiY3VzdG9tZXJfaWQiOiAiYy0yMTMiLCAicGxhY2VkX2F0IjogIjIwMjYtMTEtMjFUMTA6MDA6MDRaIiwgImxpbmVzIjogW3sic2t1IjogIuiMtiIsICJxdWFudGl0eSI6IDEwLCAidW5pdF9wcmljZSI6ICI1LjY1In0sIHsic2t1IjogImtldHRsZSIsICJxdWFudGl0eSI6IDgsICJ1bml0X3ByaWNlIjogIjM5Ljc3In0sIHsic2t1IjogImJpc2N1aXRzIiwgInF1YW50aXR5IjogMTIsICJ1bml0X3ByaWNlIjogIg==","headers":[{"name":"message_id","value":"djAxLTQtYmFk"}],"value_length":256,"value_sha256":"f0dfff51b1b09d174844d117aae6b42e40fa87c72b18b45ca073ebd252e66700"}', '00-3b2f5e9f7669568094e4887a05010792-3b2f5e9f76695680-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (22, 'e2997358-9506-5334-8c66-46dfe4337df8', 'rejection', 'v01-o2', 'order-rejected', '{"message_id":"v01-2-again","order_id":"v01-o2","reason":"already_fulfilled","fulfilled_by":"v01-2"}', '00-e2997358950653348c6646dfe4337df8-e299735895065334-00', '1.0', '2026-11-22 16:26:19.875226+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (23, '8b017bb8-3e05-5921-a600-ba8adec8ffe8', 'dead-letter', 'order.events/1/9', 'record-dead-lettered', '{"topic":"order.events","partition":1,"offset":9,"kind":"conflict","reason":"message_id: already seen with another value","key":"djAxLW8x","value":"eyJvcmRlcl9pZCI6ICJ2MDEtbzEiLCAiY3VzdG9tZXJfaWQiOiAiYy1vdGhlciIsICJwbGFjZWRfYXQiOiAiMjAyNi0xMS0yMVQxMDowMDowMVoiLCAibGluZXMiOiBbeyJza3UiOiAia2V0dGxlIiwgInF1YW50aXR5IjogOCwgInVuaXRfcHJpY2UiOiAiNDMuNjMifSwgeyJza3UiOiAi6Iy2IiwgInF1YW50aXR5IjogMTIsICJ1bml0X3ByaWNlIjogIjM3LjQ4In0sIHsic2t1IjogInRlYSIsICJxdWFudGl0eSI6IDEwLCAidW5pdF9wcmljZSI6ICIxNi43NCJ9LCB7InNrdSI6ICJtdWciLCAicXVhbnRpdHkiOiA2LCAidW5pdF9wcmljZSI6ICI1LjAxIn1dLCAiZ2lmdCI6IHRydWV9","headers":[{"name":"message_id","value":"djAxLTE="},{"name":"traceparent","value":"MDAtZTE5ODhhZDlmMDZjMTQ0YTAyNWI0MTNmOGE5YTAyMWYtYWZiZDY3Zjk2MTk2OTljZi0wMQ=="}],"value_length":330,"value_sha256":"9ccc02142bb005539cadce3ca780ca5f5554e7a9506a3cf060e2dd981320fe38"}', '00-8b017bb83e055921a600ba8adec8ffe8-8b017bb83e055921-00', '1.0', '2026-11-22 16:26:19.897735+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (24, '1a00d36f-d51f-5503-bfbf-e878c5f6cf39', 'batch-total', 'b1', 'batch-totalled', '{"batch_id":"b1","begin":{"topic":"batch.events","partition":2,"offset":0},"items":2,"units":7,"amount":"13.00"}', '00-1a00d36fd51f5503bfbfe878c5f6cf39-1a00d36fd51f5503-00', '1.0', '2026-11-22 16:26:21.903303+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (25, '69a33d56-e3fd-5f50-9fee-068d9306e9a6', 'dead-letter', 'batch.events/1/0', 'record-dead-lettered', '{"topic":"batch.events","partition":1,"offset":0,"kind":"invalid","reason":"value: Expecting value: line 1 column 1 (char 0)","key":"YjM=","value":"bm8ganNvbg==","headers":[{"name":"message_id","value":"YjMtMQ=="}],"value_length":7,"value_sha256":"5ad3040044b6d872316bf4312926c3b9eac7faf4eca2966e8ac41dfdf9c803f5"}', '00-69a33d56e3fd5f509fee068d9306e9a6-69a33d56e3fd5f50-00', '1.0', '2026-11-22 16:26:21.903303+00');


--
-- Data for Name: tracking; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.tracking VALUES ('fulfillment', 'v01-14', '\xca77d645dd901bef08bee5e05091112bdb67d2a760379f283b84620f61bb7bda', 'order.events', 2, 0, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-15', '\xe1f7fe752844b4e23ef5dafac2fa98c3ac51b6c4dbc6e7b9b091e2bdb2afcb29', 'order.events', 2, 1, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-19', '\x9aac50db46da4e8f58ecc2a6df7654861e6121ae4f42723fc329932a6abe305c', 'order.events', 2, 2, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-3', '\xb9bb68e4786aa319d162950d9ebe2f472132e1b8994c46ca94c02fb905da9de3', 'order.events', 0, 0, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-5', '\x297a1fb6a5c098ab87a870054ab81b9efcdf3c4215bed8a9b5e56fd5860dd80b', 'order.events', 0, 1, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-6', '\x981f848feb680035c875926003bf2749380221518338b7bae4bebce59c0cb5ab', 'order.events', 0, 2, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-7', '\x6594cda242a320cef8ddc0fedfd5bb6017ed3a64129b5f221d651f6f70e06039', 'order.events', 0, 3, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-8', '\xd7ea256e61afc0e603ceac2483ceee1199779b29d05a430756c02cb79cf7fcf1', 'order.events', 0, 4, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-9', '\x1267d1ea6c3f26cb85fd357c7d1610514869eb887cf18832156445eddcf01ebf', 'order.events', 0, 5, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-10', '\x40c5a22db471d637738edfd3d7837fd2824d74665cc1af537de7f0f5a0734544', 'order.events', 0, 6, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-11', '\x87281925f94b897274d0c999f1d9050e1163849b7c325554e2506d193cd9e373', 'order.events', 0, 7, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-17', '\xb6f1267c1ced937186ec1d13095734e8ab65489f80624c975e98e1dae0d438cb', 'order.events', 0, 8, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-18', '\x2f959b1c736ed0b18a96132bd33c788b25d0c5e1fa56e72163aa5a638bcac432', 'order.events', 0, 9, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-0', '\xc9abbd41224a2f913cfe3688f845a31f54fe2401e2e743d9f6eca47044be611c', 'order.events', 1, 0, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-1', '\xb44e29a856a5c8af7d29598fdbe6b4001274bc13304e32284188ed5a99c21981', 'order.events', 1, 1, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-2', '\xa7378ca8b1aafb19cfe752442d945197800677b8180d45fbb6974d95cd17ec96', 'order.events', 1, 2, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-4', '\x2107bbdac678d72140c5d29d6b60061e628a24877b1a5da053413f67a8848d04', 'order.events', 1, 3, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-12', '\x393a4c187e40e635a4d4cf23a15b4111ca08dc7afdb5d257bd898222e3d18a61', 'order.events', 1, 4, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-13', '\xe63642581f2c3c483a6f976a131a2fc602d13655fffdc27c68514b3021b17681', 'order.events', 1, 5, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-16', '\x3e25fee408a38b947661e47a1e4b8ea9b4d6f5481d3e1e4e46e289594c922341', 'order.events', 1, 6, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('fulfillment', 'v01-2-again', '\xa7378ca8b1aafb19cfe752442d945197800677b8180d45fbb6974d95cd17ec96', 'order.events', 1, 8, '2026-11-22 16:26:19.891893+00', NULL, '2026-11-22 16:26:19.875226+00');
INSERT INTO public.tracking VALUES ('aggregator', 'b1-1', '\xfeb686f3abc72315fe80efa729e770f113260a799ca81f001036332623b17027', 'batch.events', 2, 0, NULL, NULL, '2026-11-22 16:26:21.88961+00');
INSERT INTO public.tracking VALUES ('aggregator', 'b1-2', '\x670f739f89ee6da1a47de209e49330344eee58709446db2a9ab4dc208c619090', 'batch.events', 2, 1, NULL, NULL, '2026-11-22 16:26:21.88961+00');
INSERT INTO public.tracking VALUES ('aggregator', 'b1-3', '\xfc433d0693bd2d1babc2809afda51fff1bd6cb4be8b51470756e9a7126a04df3', 'batch.events', 2, 3, NULL, NULL, '2026-11-22 16:26:21.88961+00');
INSERT INTO public.tracking VALUES ('aggregator', 'b2-1', '\xaf5bc7d25048e391d4957cfeb2a71610100281b53d9feb54be66e84d76aea724', 'batch.events', 0, 0, NULL, NULL, '2026-11-22 16:26:21.88961+00');


--
-- Data for Name: watermark; Type: TABLE DATA; Schema: public; Owner: owner
--



--
-- Name: outbox_seq_seq; Type: SEQUENCE SET; Schema: public; Owner: owner
--

SELECT pg_catalog.setval('public.outbox_seq_seq', 25, true);


--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: batch_position batch_position_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.batch_position
    ADD CONSTRAINT batch_position_pkey PRIMARY KEY (topic, partition);


--
-- Name: dead_letter dead_letter_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (topic, partition, "offset");


--
-- Name: fence fence_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.fence
    ADD CONSTRAINT fence_pkey PRIMARY KEY (subscriber, message_id);


--
-- Name: fulfillment fulfillment_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.fulfillment
    ADD CONSTRAINT fulfillment_pkey PRIMARY KEY (order_id);


--
-- Name: heartbeat heartbeat_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.heartbeat
    ADD CONSTRAINT heartbeat_pkey PRIMARY KEY (only_row);


--
-- Name: open_batch open_batch_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.open_batch
    ADD CONSTRAINT open_batch_pkey PRIMARY KEY (topic, partition, "offset");


--
-- Name: order_state order_state_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.order_state
    ADD CONSTRAINT order_state_pkey PRIMARY KEY (subscriber, order_id);


--
-- Name: order_version order_version_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.order_version
    ADD CONSTRAINT order_version_pkey PRIMARY KEY (subscriber, order_id);


--
-- Name: outbox outbox_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (event_id);


--
-- Name: tracking tracking_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.tracking
    ADD CONSTRAINT tracking_pkey PRIMARY KEY (subscriber, message_id);


--
-- Name: watermark watermark_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.watermark
    ADD CONSTRAINT watermark_pkey PRIMARY KEY (subscriber, topic, partition);


--
-- Name: fence_touched_at; Type: INDEX; Schema: public; Owner: owner
--

CREATE INDEX fence_touched_at ON public.fence USING brin (touched_at) WITH (pages_per_range='16');


--
-- Name: tracking_handled_at; Type: INDEX; Schema: public; Owner: owner
--

CREATE INDEX tracking_handled_at ON public.tracking USING brin (handled_at) WITH (pages_per_range='16');


--
-- Name: outbox; Type: PUBLICATION; Schema: -; Owner: owner
--

CREATE PUBLICATION outbox WITH (publish = 'insert, update');


ALTER PUBLICATION outbox OWNER TO owner;

--
-- Name: outbox heartbeat; Type: PUBLICATION TABLE; Schema: public; Owner: owner
--

ALTER PUBLICATION outbox ADD TABLE ONLY public.heartbeat;


--
-- Name: outbox outbox; Type: PUBLICATION TABLE; Schema: public; Owner: owner
--

ALTER PUBLICATION outbox ADD TABLE ONLY public.outbox;


--
-- Name: TABLE batch_position; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT ON TABLE public.batch_position TO app;
GRANT SELECT ON TABLE public.batch_position TO reconciler;


--
-- Name: COLUMN batch_position."offset"; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE("offset") ON TABLE public.batch_position TO app;


--
-- Name: TABLE dead_letter; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT ON TABLE public.dead_letter TO app;
GRANT SELECT ON TABLE public.dead_letter TO reconciler;


--
-- Name: TABLE fence; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT,UPDATE ON TABLE public.fence TO app;
GRANT SELECT,DELETE ON TABLE public.fence TO purger;


--
-- Name: COLUMN fence.touched_at; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE(touched_at) ON TABLE public.fence TO purger;


--
-- Name: TABLE fulfillment; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT ON TABLE public.fulfillment TO app;
GRANT SELECT ON TABLE public.fulfillment TO reconciler;


--
-- Name: TABLE heartbeat; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,UPDATE ON TABLE public.heartbeat TO cdc;


--
-- Name: TABLE open_batch; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.open_batch TO app;
GRANT SELECT ON TABLE public.open_batch TO reconciler;


--
-- Name: COLUMN open_batch.complete_offset; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE(complete_offset) ON TABLE public.open_batch TO app;


--
-- Name: COLUMN open_batch.looked_at; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE(looked_at) ON TABLE public.open_batch TO app;


--
-- Name: TABLE order_state; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT,UPDATE ON TABLE public.order_state TO app;
GRANT SELECT ON TABLE public.order_state TO purger;


--
-- Name: COLUMN order_state.message_ids; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE(message_ids) ON TABLE public.order_state TO purger;


--
-- Name: TABLE order_version; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT,UPDATE ON TABLE public.order_version TO app;
GRANT SELECT,DELETE ON TABLE public.order_version TO purger;


--
-- Name: COLUMN order_version.touched_at; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE(touched_at) ON TABLE public.order_version TO purger;


--
-- Name: TABLE outbox; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT ON TABLE public.outbox TO app;
GRANT SELECT ON TABLE public.outbox TO reconciler;


--
-- Name: TABLE tracking; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT ON TABLE public.tracking TO app;
GRANT SELECT ON TABLE public.tracking TO reconciler;
GRANT SELECT,DELETE ON TABLE public.tracking TO purger;


--
-- Name: COLUMN tracking.audited_at; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE(audited_at) ON TABLE public.tracking TO app;


--
-- Name: COLUMN tracking.audit_error; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE(audit_error) ON TABLE public.tracking TO app;


--
-- Name: COLUMN tracking.handled_at; Type: ACL; Schema: public; Owner: owner
--

GRANT UPDATE(handled_at) ON TABLE public.tracking TO purger;


--
-- Name: TABLE watermark; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT,UPDATE ON TABLE public.watermark TO app;


--
-- PostgreSQL database dump complete
--

\unrestrict frozen

