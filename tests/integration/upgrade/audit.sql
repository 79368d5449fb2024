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
-- Name: audit_entry; Type: TABLE; Schema: public; Owner: owner
--

CREATE TABLE public.audit_entry (
    idempotency_key text NOT NULL,
    audit_entry_id uuid NOT NULL,
    message_id text NOT NULL,
    order_id text NOT NULL,
    outcome text NOT NULL,
    fulfillment_id uuid,
    total numeric,
    body_sha256 bytea NOT NULL,
    answer json NOT NULL,
    CONSTRAINT audit_entry_idempotency_key_check CHECK (((char_length(idempotency_key) >= 1) AND (char_length(idempotency_key) <= 128))),
    CONSTRAINT audit_entry_outcome_check CHECK ((outcome = ANY (ARRAY['fulfilled'::text, 'rejected'::text])))
);


ALTER TABLE public.audit_entry OWNER TO owner;

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
    CONSTRAINT outbox_aggregate_type_check CHECK ((aggregate_type = 'audit'::text)),
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
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.alembic_version VALUES ('0001');


--
-- Data for Name: audit_entry; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.audit_entry VALUES ('1153faae-9301-555a-84aa-ff8b54fcae6d', '11d4e8c2-0140-546e-ae03-cb3dd03620ea', 'v01-5', 'v01-o5', 'fulfilled', '310612ad-34b1-522a-b6cd-ab2dd211c36d', 719.67, '\xd2fd58e6c897ee752150c26552f31489040ec46a16ebf6c33e4a6cf513dc7f9a', '{"audit_entry_id":"11d4e8c2-0140-546e-ae03-cb3dd03620ea","idempotency_key":"1153faae-9301-555a-84aa-ff8b54fcae6d","message_id":"v01-5","order_id":"v01-o5","outcome":"fulfilled","body_sha256":"d2fd58e6c897ee752150c26552f31489040ec46a16ebf6c33e4a6cf513dc7f9a"}');
INSERT INTO public.audit_entry VALUES ('1389584b-638b-5cb1-83ec-749fe84190ab', 'ae244745-0e96-528c-b5d1-55f32035cf25', 'v01-13', 'v01-o13', 'fulfilled', '38a38ae3-c235-5745-8ae3-eb114919bed6', 3020.49, '\x3eee1357dcd2ece864f24ecd37c0073c6323c1494765cb771c099a08a7c1e35e', '{"audit_entry_id":"ae244745-0e96-528c-b5d1-55f32035cf25","idempotency_key":"1389584b-638b-5cb1-83ec-749fe84190ab","message_id":"v01-13","order_id":"v01-o13","outcome":"fulfilled","body_sha256":"3eee1357dcd2ece864f24ecd37c0073c6323c1494765cb771c099a08a7c1e35e"}');
INSERT INTO public.audit_entry VALUES ('1525a40c-9aec-5e4e-985b-94926b22bce4', 'f7e97bdd-6f40-5781-b965-8b2ace5cf548', 'v01-11', 'v01-o11', 'fulfilled', '70255468-a0ae-5533-85d2-7597cf9d9282', 1573.60, '\x2f2451ca81f3ffc87726eaa8e510c69d32cf45df0b4aae2efc900d46e55c0050', '{"audit_entry_id":"f7e97bdd-6f40-5781-b965-8b2ace5cf548","idempotency_key":"1525a40c-9aec-5e4e-985b-94926b22bce4","message_id":"v01-11","order_id":"v01-o11","outcome":"fulfilled","body_sha256":"2f2451ca81f3ffc87726eaa8e510c69d32cf45df0b4aae2efc900d46e55c0050"}');
INSERT INTO public.audit_entry VALUES ('171a0a5b-b13e-5f96-ae8f-4f89b13c892e', '7aa6d0f5-bb37-59e7-acdc-4de53d772ea7', 'v01-6', 'v01-o6', 'fulfilled', '371e1aa5-b9d8-517c-8e39-e2c9092bf545', 1293.14, '\x09ff1ea6c412ab23d0aad68ee57c625c51f088fb24555fe039488b3281846d45', '{"audit_entry_id":"7aa6d0f5-bb37-59e7-acdc-4de53d772ea7","idempotency_key":"171a0a5b-b13e-5f96-ae8f-4f89b13c892e","message_id":"v01-6","order_id":"v01-o6","outcome":"fulfilled","body_sha256":"09ff1ea6c412ab23d0aad68ee57c625c51f088fb24555fe039488b3281846d45"}');
INSERT INTO public.audit_entry VALUES ('29759ac8-1523-5ae6-b8b1-2cafc3e9a4f9', '46560b69-3069-5e38-9b42-000cf0a45763', 'v01-3', 'v01-o3', 'fulfilled', 'c6306cc5-834c-5b03-9ace-35eb61d98cea', 1239.28, '\x3d492ede69151775b8b0eeceeabeadfd789c3d0f6fc8330c13515bfcb38ec99e', '{"audit_entry_id":"46560b69-3069-5e38-9b42-000cf0a45763","idempotency_key":"29759ac8-1523-5ae6-b8b1-2cafc3e9a4f9","message_id":"v01-3","order_id":"v01-o3","outcome":"fulfilled","body_sha256":"3d492ede69151775b8b0eeceeabeadfd789c3d0f6fc8330c13515bfcb38ec99e"}');
INSERT INTO public.audit_entry VALUES ('381c79d9-1e80-5e78-ac9b-0d94cc165b9b', '05dfa5ba-6de6-572e-888f-f8eda313feeb', 'v01-0', 'v01-o0', 'fulfilled', 'e39281c5-8339-5b2e-acf9-6fe256486ec0', 685.67, '\xd2be829c0700e498d94f36ba87f17c3bc44c42acf1e2af91686a4aada3b4bb1f', '{"audit_entry_id":"05dfa5ba-6de6-572e-888f-f8eda313feeb","idempotency_key":"381c79d9-1e80-5e78-ac9b-0d94cc165b9b","message_id":"v01-0","order_id":"v01-o0","outcome":"fulfilled","body_sha256":"d2be829c0700e498d94f36ba87f17c3bc44c42acf1e2af91686a4aada3b4bb1f"}');
INSERT INTO public.audit_entry VALUES ('39fe0202-07fd-58c5-86a1-637498256244', 'd86bd238-89b9-590f-a6ff-add82df2442e', 'v01-18', 'v01-o18', 'fulfilled', '8b66925a-19a1-5568-aa7c-5f6b600fed31', 537.45, '\xe73c3f70bdc085c6dd305e81d1bbfc6bd06d02e33eb4af7fb0a03785b8442f47', '{"audit_entry_id":"d86bd238-89b9-590f-a6ff-add82df2442e","idempotency_key":"39fe0202-07fd-58c5-86a1-637498256244","message_id":"v01-18","order_id":"v01-o18","outcome":"fulfilled","body_sha256":"e73c3f70bdc085c6dd305e81d1bbfc6bd06d02e33eb4af7fb0a03785b8442f47"}');
INSERT INTO public.audit_entry VALUES ('4518d3aa-e9dc-5796-9713-193ab9100648', 'c6bb896f-058f-5f8b-a03d-65131d8208e9', 'v01-10', 'v01-o10', 'fulfilled', 'b8b0ef1b-7144-55f7-83a7-a84776723124', 176.04, '\x534cc8bde7f27bab1175db16b87480512db5147ffefb4b4c675b8521ac2ed90c', '{"audit_entry_id":"c6bb896f-058f-5f8b-a03d-65131d8208e9","idempotency_key":"4518d3aa-e9dc-5796-9713-193ab9100648","message_id":"v01-10","order_id":"v01-o10","outcome":"fulfilled","body_sha256":"534cc8bde7f27bab1175db16b87480512db5147ffefb4b4c675b8521ac2ed90c"}');
INSERT INTO public.audit_entry VALUES ('5890db9a-abf5-5641-8caf-b197e32e3db7', 'bb74cc2c-ed57-52d7-a27f-06c7ae66495f', 'v01-19', 'v01-o19', 'fulfilled', 'a1e59c29-6b54-5b26-bb91-915ee7cb8cef', 395.80, '\x56c73afec3dc186c79dfe6d97f273ff3db3e0547561c94a99bccfddd9ff01337', '{"audit_entry_id":"bb74cc2c-ed57-52d7-a27f-06c7ae66495f","idempotency_key":"5890db9a-abf5-5641-8caf-b197e32e3db7","message_id":"v01-19","order_id":"v01-o19","outcome":"fulfilled","body_sha256":"56c73afec3dc186c79dfe6d97f273ff3db3e0547561c94a99bccfddd9ff01337"}');
INSERT INTO public.audit_entry VALUES ('60802791-8c8c-5b27-9b92-4eedcd691795', 'af760d5c-1c8d-5186-94f5-3721dfd99f65', 'v01-7', 'v01-o7', 'fulfilled', '193282c6-3177-5cc2-aa80-784136da8498', 1007.52, '\xce740cc4b5c117d75e19a20d709ca654e2647f2131e8ffd175dcb92f2c19b453', '{"audit_entry_id":"af760d5c-1c8d-5186-94f5-3721dfd99f65","idempotency_key":"60802791-8c8c-5b27-9b92-4eedcd691795","message_id":"v01-7","order_id":"v01-o7","outcome":"fulfilled","body_sha256":"ce740cc4b5c117d75e19a20d709ca654e2647f2131e8ffd175dcb92f2c19b453"}');
INSERT INTO public.audit_entry VALUES ('6b4dc226-b310-588e-bdf4-55aa318003c0', '80eaef22-0b11-5ce8-94fe-d24ae149df47', 'v01-16', 'v01-o16', 'fulfilled', 'f5290839-1308-5809-93ec-ae1471b8a680', 1533.79, '\x40e7e03c76efef86eb8be875e212bffd46f7a8809f956953bf071d6c655a86b6', '{"audit_entry_id":"80eaef22-0b11-5ce8-94fe-d24ae149df47","idempotency_key":"6b4dc226-b310-588e-bdf4-55aa318003c0","message_id":"v01-16","order_id":"v01-o16","outcome":"fulfilled","body_sha256":"40e7e03c76efef86eb8be875e212bffd46f7a8809f956953bf071d6c655a86b6"}');
INSERT INTO public.audit_entry VALUES ('6b51d18e-4a97-5755-bef1-f5fc0608aaac', '3e3fa8fa-43f6-5bac-aaa3-25e1544cc63e', 'v01-1', 'v01-o1', 'fulfilled', '128fe7ff-5e5e-5a91-a7f9-cb22a3efe2be', 996.26, '\x937f66c10b4e34adb1f88b8f8743e71fdeef6f9c8b06485ce6822db2d5cca36a', '{"audit_entry_id":"3e3fa8fa-43f6-5bac-aaa3-25e1544cc63e","idempotency_key":"6b51d18e-4a97-5755-bef1-f5fc0608aaac","message_id":"v01-1","order_id":"v01-o1","outcome":"fulfilled","body_sha256":"937f66c10b4e34adb1f88b8f8743e71fdeef6f9c8b06485ce6822db2d5cca36a"}');
INSERT INTO public.audit_entry VALUES ('77b86f65-8aea-5083-9936-340139711799', 'e7c557aa-5d8a-5788-9a50-fc344142e309', 'v01-9', 'v01-o9', 'fulfilled', '752481d7-c54f-5af5-a683-415a6cfa7d99', 421.38, '\x08d17ccf73509ebc6ed3e799d9a20302bcfbe537ec2214765c961e6c0bf6afe0', '{"audit_entry_id":"e7c557aa-5d8a-5788-9a50-fc344142e309","idempotency_key":"77b86f65-8aea-5083-9936-340139711799","message_id":"v01-9","order_id":"v01-o9","outcome":"fulfilled","body_sha256":"08d17ccf73509ebc6ed3e799d9a20302bcfbe537ec2214765c961e6c0bf6afe0"}');
INSERT INTO public.audit_entry VALUES ('807283e6-d058-530a-bf9a-535cd29cbc14', '07f3689d-d2e0-51b6-a244-6d4af23aa343', 'v01-2', 'v01-o2', 'fulfilled', '1c44e024-6f7b-593f-80fa-87e51439db52', 976.72, '\xe7414baf4e3813869a2ec8497ee8084087440505aa01bec22ec44e4549266ae6', '{"audit_entry_id":"07f3689d-d2e0-51b6-a244-6d4af23aa343","idempotency_key":"807283e6-d058-530a-bf9a-535cd29cbc14","message_id":"v01-2","order_id":"v01-o2","outcome":"fulfilled","body_sha256":"e7414baf4e3813869a2ec8497ee8084087440505aa01bec22ec44e4549266ae6"}');
INSERT INTO public.audit_entry VALUES ('a67f6d1f-b1b5-535a-ae49-3b476b85a0e8', '7d2b0951-2339-5b1a-b345-927d802ee361', 'v01-17', 'v01-o17', 'fulfilled', '122dda56-597e-5fa9-8e05-24d892d00a15', 348.33, '\x6152fca86c2d1d0d1b203b577bdd9dc5c5a762f0e8ec5c021bf15ad82de3f5e3', '{"audit_entry_id":"7d2b0951-2339-5b1a-b345-927d802ee361","idempotency_key":"a67f6d1f-b1b5-535a-ae49-3b476b85a0e8","message_id":"v01-17","order_id":"v01-o17","outcome":"fulfilled","body_sha256":"6152fca86c2d1d0d1b203b577bdd9dc5c5a762f0e8ec5c021bf15ad82de3f5e3"}');
INSERT INTO public.audit_entry VALUES ('cc1514ff-b0a3-5794-b97a-2ea0fb4e2543', 'e163fb78-f31a-56fa-a3de-6cbfa709ceb9', 'v01-12', 'v01-o12', 'fulfilled', 'aae43ae7-92c5-53de-beb5-81b75eb631f2', 1002.84, '\x84333ca3fb272c0fb352ab34bd98f77d873a50ce589c4ce5797b9fa4800cc088', '{"audit_entry_id":"e163fb78-f31a-56fa-a3de-6cbfa709ceb9","idempotency_key":"cc1514ff-b0a3-5794-b97a-2ea0fb4e2543","message_id":"v01-12","order_id":"v01-o12","outcome":"fulfilled","body_sha256":"84333ca3fb272c0fb352ab34bd98f77d873a50ce589c4ce5797b9fa4800cc088"}');
INSERT INTO public.audit_entry VALUES ('d3945ed4-f289-5e31-b5b6-76cf28e3d188', 'e48fc9e1-2810-502f-8a8f-7797a445a434', 'v01-8', 'v01-o8', 'fulfilled', '543762bb-561d-5618-bc64-19f4a2d86729', 1761.40, '\xb7f97901a9317ca64c3a6da8792d99e05dd02d5bd41991cb10b12244753efc59', '{"audit_entry_id":"e48fc9e1-2810-502f-8a8f-7797a445a434","idempotency_key":"d3945ed4-f289-5e31-b5b6-76cf28e3d188","message_id":"v01-8","order_id":"v01-o8","outcome":"fulfilled","body_sha256":"b7f97901a9317ca64c3a6da8792d99e05dd02d5bd41991cb10b12244753efc59"}');
INSERT INTO public.audit_entry VALUES ('e1dd75cc-27cb-51f2-9dd0-840cfd600573', 'dbb78208-f453-531c-9851-ba8d66c8420d', 'v01-2-again', 'v01-o2', 'rejected', NULL, NULL, '\x7a7da1eec9d9c3787ba41b391ab6c60df6d8350e9aff6542f8d3d7e3c4e52132', '{"audit_entry_id":"dbb78208-f453-531c-9851-ba8d66c8420d","idempotency_key":"e1dd75cc-27cb-51f2-9dd0-840cfd600573","message_id":"v01-2-again","order_id":"v01-o2","outcome":"rejected","body_sha256":"7a7da1eec9d9c3787ba41b391ab6c60df6d8350e9aff6542f8d3d7e3c4e52132"}');
INSERT INTO public.audit_entry VALUES ('e62d67bc-f4a1-56d5-9230-d4bc72bb860d', 'b2a0a76e-9c07-57ce-a5ad-86a0aa149e3c', 'v01-14', 'v01-o14', 'fulfilled', 'b7ba3658-4d58-5212-abe0-16d9640a10d1', 741.48, '\xf9808582b9bff7d0c0a236157f124abea877261a9dcc1dc9217f8af50727e58c', '{"audit_entry_id":"b2a0a76e-9c07-57ce-a5ad-86a0aa149e3c","idempotency_key":"e62d67bc-f4a1-56d5-9230-d4bc72bb860d","message_id":"v01-14","order_id":"v01-o14","outcome":"fulfilled","body_sha256":"f9808582b9bff7d0c0a236157f124abea877261a9dcc1dc9217f8af50727e58c"}');
INSERT INTO public.audit_entry VALUES ('ebb54a4f-a968-5e3e-9c4b-f7c080748d2e', '2c01a817-cba6-53c1-90e1-29b79a58d0b7', 'v01-15', 'v01-o15', 'fulfilled', 'c90399b6-879e-5375-be34-7a9b4ec7d7b4', 1417.50, '\xda08f9b2415d7e1e207ee8c1e48b7813cffa8b6237d5c543b6fe07aff9306a56', '{"audit_entry_id":"2c01a817-cba6-53c1-90e1-29b79a58d0b7","idempotency_key":"ebb54a4f-a968-5e3e-9c4b-f7c080748d2e","message_id":"v01-15","order_id":"v01-o15","outcome":"fulfilled","body_sha256":"da08f9b2415d7e1e207ee8c1e48b7813cffa8b6237d5c543b6fe07aff9306a56"}');
INSERT INTO public.audit_entry VALUES ('f1d86527-1f56-5935-868d-fbdfdc4874b3', 'c9961e8e-96b1-5b09-8720-2f813ef32180', 'v01-4', 'v01-o4', 'fulfilled', '9e859492-b5d9-593e-ac8f-2fd58e66d909', 1169.42, '\x708aa5c33785c2abf84eb1055a2d3492117b6d197f4af33c9fafceb5e0d13016', '{"audit_entry_id":"c9961e8e-96b1-5b09-8720-2f813ef32180","idempotency_key":"f1d86527-1f56-5935-868d-fbdfdc4874b3","message_id":"v01-4","order_id":"v01-o4","outcome":"fulfilled","body_sha256":"708aa5c33785c2abf84eb1055a2d3492117b6d197f4af33c9fafceb5e0d13016"}');


--
-- Data for Name: heartbeat; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.heartbeat VALUES (true, '2026-11-22 16:27:39.203911+00');


--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: owner
--

INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (1, 'b2a0a76e-9c07-57ce-a5ad-86a0aa149e3c', 'audit', 'v01-o14', 'audit-entry-recorded', '{"audit_entry_id":"b2a0a76e-9c07-57ce-a5ad-86a0aa149e3c","idempotency_key":"e62d67bc-f4a1-56d5-9230-d4bc72bb860d","message_id":"v01-14","order_id":"v01-o14","outcome":"fulfilled","body_sha256":"f9808582b9bff7d0c0a236157f124abea877261a9dcc1dc9217f8af50727e58c"}', '00-b2a0a76e9c0757cea5ad86a0aa149e3c-b2a0a76e9c0757ce-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (2, '2c01a817-cba6-53c1-90e1-29b79a58d0b7', 'audit', 'v01-o15', 'audit-entry-recorded', '{"audit_entry_id":"2c01a817-cba6-53c1-90e1-29b79a58d0b7","idempotency_key":"ebb54a4f-a968-5e3e-9c4b-f7c080748d2e","message_id":"v01-15","order_id":"v01-o15","outcome":"fulfilled","body_sha256":"da08f9b2415d7e1e207ee8c1e48b7813cffa8b6237d5c543b6fe07aff9306a56"}', '00-2c01a817cba653c190e129b79a58d0b7-2c01a817cba653c1-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (3, 'bb74cc2c-ed57-52d7-a27f-06c7ae66495f', 'audit', 'v01-o19', 'audit-entry-recorded', '{"audit_entry_id":"bb74cc2c-ed57-52d7-a27f-06c7ae66495f","idempotency_key":"5890db9a-abf5-5641-8caf-b197e32e3db7","message_id":"v01-19","order_id":"v01-o19","outcome":"fulfilled","body_sha256":"56c73afec3dc186c79dfe6d97f273ff3db3e0547561c94a99bccfddd9ff01337"}', '00-bb74cc2ced5752d7a27f06c7ae66495f-bb74cc2ced5752d7-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (4, '46560b69-3069-5e38-9b42-000cf0a45763', 'audit', 'v01-o3', 'audit-entry-recorded', '{"audit_entry_id":"46560b69-3069-5e38-9b42-000cf0a45763","idempotency_key":"29759ac8-1523-5ae6-b8b1-2cafc3e9a4f9","message_id":"v01-3","order_id":"v01-o3","outcome":"fulfilled","body_sha256":"3d492ede69151775b8b0eeceeabeadfd789c3d0f6fc8330c13515bfcb38ec99e"}', '00-46560b6930695e389b42000cf0a45763-46560b6930695e38-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (5, '11d4e8c2-0140-546e-ae03-cb3dd03620ea', 'audit', 'v01-o5', 'audit-entry-recorded', '{"audit_entry_id":"11d4e8c2-0140-546e-ae03-cb3dd03620ea","idempotency_key":"1153faae-9301-555a-84aa-ff8b54fcae6d","message_id":"v01-5","order_id":"v01-o5","outcome":"fulfilled","body_sha256":"d2fd58e6c897ee752150c26552f31489040ec46a16ebf6c33e4a6cf513dc7f9a"}', '00-11d4e8c20140546eae03cb3dd03620ea-11d4e8c20140546e-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (6, '7aa6d0f5-bb37-59e7-acdc-4de53d772ea7', 'audit', 'v01-o6', 'audit-entry-recorded', '{"audit_entry_id":"7aa6d0f5-bb37-59e7-acdc-4de53d772ea7","idempotency_key":"171a0a5b-b13e-5f96-ae8f-4f89b13c892e","message_id":"v01-6","order_id":"v01-o6","outcome":"fulfilled","body_sha256":"09ff1ea6c412ab23d0aad68ee57c625c51f088fb24555fe039488b3281846d45"}', '00-7aa6d0f5bb3759e7acdc4de53d772ea7-7aa6d0f5bb3759e7-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (7, 'af760d5c-1c8d-5186-94f5-3721dfd99f65', 'audit', 'v01-o7', 'audit-entry-recorded', '{"audit_entry_id":"af760d5c-1c8d-5186-94f5-3721dfd99f65","idempotency_key":"60802791-8c8c-5b27-9b92-4eedcd691795","message_id":"v01-7","order_id":"v01-o7","outcome":"fulfilled","body_sha256":"ce740cc4b5c117d75e19a20d709ca654e2647f2131e8ffd175dcb92f2c19b453"}', '00-af760d5c1c8d518694f53721dfd99f65-af760d5c1c8d5186-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (8, 'e48fc9e1-2810-502f-8a8f-7797a445a434', 'audit', 'v01-o8', 'audit-entry-recorded', '{"audit_entry_id":"e48fc9e1-2810-502f-8a8f-7797a445a434","idempotency_key":"d3945ed4-f289-5e31-b5b6-76cf28e3d188","message_id":"v01-8","order_id":"v01-o8","outcome":"fulfilled","body_sha256":"b7f97901a9317ca64c3a6da8792d99e05dd02d5bd41991cb10b12244753efc59"}', '00-e48fc9e12810502f8a8f7797a445a434-e48fc9e12810502f-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (9, 'e7c557aa-5d8a-5788-9a50-fc344142e309', 'audit', 'v01-o9', 'audit-entry-recorded', '{"audit_entry_id":"e7c557aa-5d8a-5788-9a50-fc344142e309","idempotency_key":"77b86f65-8aea-5083-9936-340139711799","message_id":"v01-9","order_id":"v01-o9","outcome":"fulfilled","body_sha256":"08d17ccf73509ebc6ed3e799d9a20302bcfbe537ec2214765c961e6c0bf6afe0"}', '00-e7c557aa5d8a57889a50fc344142e309-e7c557aa5d8a5788-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (10, 'c6bb896f-058f-5f8b-a03d-65131d8208e9', 'audit', 'v01-o10', 'audit-entry-recorded', '{"audit_entry_id":"c6bb896f-058f-5f8b-a03d-65131d8208e9","idempotency_key":"4518d3aa-e9dc-5796-9713-193ab9100648","message_id":"v01-10","order_id":"v01-o10","outcome":"fulfilled","body_sha256":"534cc8bde7f27bab1175db16b87480512db5147ffefb4b4c675b8521ac2ed90c"}', '00-c6bb896f058f5f8ba03d65131d8208e9-c6bb896f058f5f8b-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (11, 'f7e97bdd-6f40-5781-b965-8b2ace5cf548', 'audit', 'v01-o11', 'audit-entry-recorded', '{"audit_entry_id":"f7e97bdd-6f40-5781-b965-8b2ace5cf548","idempotency_key":"1525a40c-9aec-5e4e-985b-94926b22bce4","message_id":"v01-11","order_id":"v01-o11","outcome":"fulfilled","body_sha256":"2f2451ca81f3ffc87726eaa8e510c69d32cf45df0b4aae2efc900d46e55c0050"}', '00-f7e97bdd6f405781b9658b2ace5cf548-f7e97bdd6f405781-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (12, '7d2b0951-2339-5b1a-b345-927d802ee361', 'audit', 'v01-o17', 'audit-entry-recorded', '{"audit_entry_id":"7d2b0951-2339-5b1a-b345-927d802ee361","idempotency_key":"a67f6d1f-b1b5-535a-ae49-3b476b85a0e8","message_id":"v01-17","order_id":"v01-o17","outcome":"fulfilled","body_sha256":"6152fca86c2d1d0d1b203b577bdd9dc5c5a762f0e8ec5c021bf15ad82de3f5e3"}', '00-7d2b095123395b1ab345927d802ee361-7d2b095123395b1a-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (13, 'd86bd238-89b9-590f-a6ff-add82df2442e', 'audit', 'v01-o18', 'audit-entry-recorded', '{"audit_entry_id":"d86bd238-89b9-590f-a6ff-add82df2442e","idempotency_key":"39fe0202-07fd-58c5-86a1-637498256244","message_id":"v01-18","order_id":"v01-o18","outcome":"fulfilled","body_sha256":"e73c3f70bdc085c6dd305e81d1bbfc6bd06d02e33eb4af7fb0a03785b8442f47"}', '00-d86bd23889b9590fa6ffadd82df2442e-d86bd23889b9590f-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (14, '05dfa5ba-6de6-572e-888f-f8eda313feeb', 'audit', 'v01-o0', 'audit-entry-recorded', '{"audit_entry_id":"05dfa5ba-6de6-572e-888f-f8eda313feeb","idempotency_key":"381c79d9-1e80-5e78-ac9b-0d94cc165b9b","message_id":"v01-0","order_id":"v01-o0","outcome":"fulfilled","body_sha256":"d2be829c0700e498d94f36ba87f17c3bc44c42acf1e2af91686a4aada3b4bb1f"}', '00-05dfa5ba6de6572e888ff8eda313feeb-05dfa5ba6de6572e-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (15, '3e3fa8fa-43f6-5bac-aaa3-25e1544cc63e', 'audit', 'v01-o1', 'audit-entry-recorded', '{"audit_entry_id":"3e3fa8fa-43f6-5bac-aaa3-25e1544cc63e","idempotency_key":"6b51d18e-4a97-5755-bef1-f5fc0608aaac","message_id":"v01-1","order_id":"v01-o1","outcome":"fulfilled","body_sha256":"937f66c10b4e34adb1f88b8f8743e71fdeef6f9c8b06485ce6822db2d5cca36a"}', '00-3e3fa8fa43f65bacaaa325e1544cc63e-3e3fa8fa43f65bac-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (16, '07f3689d-d2e0-51b6-a244-6d4af23aa343', 'audit', 'v01-o2', 'audit-entry-recorded', '{"audit_entry_id":"07f3689d-d2e0-51b6-a244-6d4af23aa343","idempotency_key":"807283e6-d058-530a-bf9a-535cd29cbc14","message_id":"v01-2","order_id":"v01-o2","outcome":"fulfilled","body_sha256":"e7414baf4e3813869a2ec8497ee8084087440505aa01bec22ec44e4549266ae6"}', '00-07f3689dd2e051b6a2446d4af23aa343-07f3689dd2e051b6-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (17, 'c9961e8e-96b1-5b09-8720-2f813ef32180', 'audit', 'v01-o4', 'audit-entry-recorded', '{"audit_entry_id":"c9961e8e-96b1-5b09-8720-2f813ef32180","idempotency_key":"f1d86527-1f56-5935-868d-fbdfdc4874b3","message_id":"v01-4","order_id":"v01-o4","outcome":"fulfilled","body_sha256":"708aa5c33785c2abf84eb1055a2d3492117b6d197f4af33c9fafceb5e0d13016"}', '00-c9961e8e96b15b0987202f813ef32180-c9961e8e96b15b09-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (18, 'e163fb78-f31a-56fa-a3de-6cbfa709ceb9', 'audit', 'v01-o12', 'audit-entry-recorded', '{"audit_entry_id":"e163fb78-f31a-56fa-a3de-6cbfa709ceb9","idempotency_key":"cc1514ff-b0a3-5794-b97a-2ea0fb4e2543","message_id":"v01-12","order_id":"v01-o12","outcome":"fulfilled","body_sha256":"84333ca3fb272c0fb352ab34bd98f77d873a50ce589c4ce5797b9fa4800cc088"}', '00-e163fb78f31a56faa3de6cbfa709ceb9-e163fb78f31a56fa-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (19, 'ae244745-0e96-528c-b5d1-55f32035cf25', 'audit', 'v01-o13', 'audit-entry-recorded', '{"audit_entry_id":"ae244745-0e96-528c-b5d1-55f32035cf25","idempotency_key":"1389584b-638b-5cb1-83ec-749fe84190ab","message_id":"v01-13","order_id":"v01-o13","outcome":"fulfilled","body_sha256":"3eee1357dcd2ece864f24ecd37c0073c6323c1494765cb771c099a08a7c1e35e"}', '00-ae2447450e96528cb5d155f32035cf25-ae2447450e96528c-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (20, '80eaef22-0b11-5ce8-94fe-d24ae149df47', 'audit', 'v01-o16', 'audit-entry-recorded', '{"audit_entry_id":"80eaef22-0b11-5ce8-94fe-d24ae149df47","idempotency_key":"6b4dc226-b310-588e-bdf4-55aa318003c0","message_id":"v01-16","order_id":"v01-o16","outcome":"fulfilled","body_sha256":"40e7e03c76efef86eb8be875e212bffd46f7a8809f956953bf071d6c655a86b6"}', '00-80eaef220b115ce894fed24ae149df47-80eaef220b115ce8-00', '1.0', '2026-11-22 16:26:19.884814+00');
INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES (21, 'dbb78208-f453-531c-9851-ba8d66c8420d', 'audit', 'v01-o2', 'audit-entry-recorded', '{"audit_entry_id":"dbb78208-f453-531c-9851-ba8d66c8420d","idempotency_key":"e1dd75cc-27cb-51f2-9dd0-840cfd600573","message_id":"v01-2-again","order_id":"v01-o2","outcome":"rejected","body_sha256":"7a7da1eec9d9c3787ba41b391ab6c60df6d8350e9aff6542f8d3d7e3c4e52132"}', '00-dbb78208f453531c9851ba8d66c8420d-dbb78208f453531c-00', '1.0', '2026-11-22 16:26:19.884814+00');


--
-- Name: outbox_seq_seq; Type: SEQUENCE SET; Schema: public; Owner: owner
--

SELECT pg_catalog.setval('public.outbox_seq_seq', 21, true);


--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: audit_entry audit_entry_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.audit_entry
    ADD CONSTRAINT audit_entry_pkey PRIMARY KEY (idempotency_key);


--
-- Name: heartbeat heartbeat_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.heartbeat
    ADD CONSTRAINT heartbeat_pkey PRIMARY KEY (only_row);


--
-- Name: outbox outbox_pkey; Type: CONSTRAINT; Schema: public; Owner: owner
--

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (event_id);


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
-- Name: TABLE audit_entry; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT ON TABLE public.audit_entry TO audit;
GRANT SELECT ON TABLE public.audit_entry TO reconciler;


--
-- Name: TABLE heartbeat; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,UPDATE ON TABLE public.heartbeat TO cdc;


--
-- Name: TABLE outbox; Type: ACL; Schema: public; Owner: owner
--

GRANT SELECT,INSERT ON TABLE public.outbox TO audit;
GRANT SELECT ON TABLE public.outbox TO reconciler;


--
-- PostgreSQL database dump complete
--

\unrestrict frozen

