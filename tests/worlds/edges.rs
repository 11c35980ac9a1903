//! Messages between two ranks, and from a rank to itself.

use norn::abi::datatype::*;
use norn::abi::slice::norn_slice;
use norn::abi::status::*;
use norn::abi::types::*;

use crate::ranks::*;

#[test]
fn a_keyed_edge_carries_its_bytes() {
    on_ranks(&config(), |rank| {
        let mut memory = [0i64; 4];
        if rank.rank == 0 {
            memory = [1, 2, 3, 4];
            let sent = rank.send(&slice(&memory), 1, 7, &[]);
            ok(rank.wait(sent));
        } else {
            let received = rank.recv(&room(&mut memory), 0, 7, &[]);
            ok(rank.wait(received));
            assert_eq!(memory, [1, 2, 3, 4]);
        }
    });
}

#[test]
fn ordered_edges_match_by_number_and_work_between_them_is_ordered() {
    on_ranks(&config(), |rank| {
        let memory = vec![0i64; 200];
        let mut there = vec![0i64; 200];
        let peer = 1 - rank.rank;
        let mut tokens = Vec::new();
        let mine: Vec<i64> = (0..200).map(|i| i * 3 + i64::from(rank.rank)).collect();
        for i in 0..200 {
            let gate = rank.task(0, &[]);
            tokens.push(rank.send(&slice(&mine[i..=i]), peer, NORN_KEY_ORDER, &[gate]));
            tokens.push(rank.recv(&room(&mut there[i..=i]), peer, NORN_KEY_ORDER, &[]));
        }
        for token in tokens {
            ok(rank.wait(token));
        }
        let expected: Vec<i64> = (0..200).map(|i| i * 3 + i64::from(peer)).collect();
        assert_eq!(there, expected);
        drop(memory);
    });
}

#[test]
fn empty_self_and_large_messages() {
    on_ranks(&config(), |rank| {
        for bytes in [0usize, 1, 4 << 20] {
            let from = vec![rank.rank as u8 + 1; bytes];
            let mut to = vec![0u8; bytes];
            let sent = rank.send(&slice(&from), rank.rank, 1, &[]);
            let received = rank.recv(&room(&mut to), rank.rank, 1, &[]);
            ok(rank.wait(received));
            ok(rank.wait(sent));
            assert_eq!(from, to);
            let mut other = vec![0u8; bytes];
            let peer = 1 - rank.rank;
            let received = rank.recv(&room(&mut other), peer, 2, &[]);
            let sent = rank.send(&slice(&from), peer, 2, &[]);
            ok(rank.wait(received));
            ok(rank.wait(sent));
            assert_eq!(other, vec![peer as u8 + 1; bytes]);
        }
    });
}

#[test]
fn blocks_and_planes_by_description() {
    on_ranks(&config(), |rank| {
        // 2 planes of 3 blocks of 2, out of 2 x 4 x 5.
        let mut memory = vec![0i64; 40];
        let part = norn_slice {
            offset: 1,
            count: 2,
            blocks: 3,
            stride: 5,
            planes: 2,
            plane_stride: 20,
            ..numbers(&memory)
        };
        if rank.rank == 0 {
            for (i, element) in memory.iter_mut().enumerate() {
                *element = i as i64;
            }
            let sent = rank.send(&part, 1, 0, &[]);
            ok(rank.wait(sent));
        } else {
            // Received densely.
            let mut dense = vec![0i64; 12];
            let received = rank.recv(&room_of_numbers(&mut dense), 0, 0, &[]);
            ok(rank.wait(received));
            assert_eq!(dense, [1, 2, 6, 7, 11, 12, 21, 22, 26, 27, 31, 32]);
        }
    });
}

#[test]
fn a_size_that_differs_is_an_error_on_the_receiving_side() {
    on_ranks(&config(), |rank| {
        for (sent, expected) in [(8usize, 16usize), (16, 8), (0, 8), (1, 0)] {
            if rank.rank == 0 {
                let from = vec![1u8; sent];
                let token = rank.send(&slice(&from), 1, 3, &[]);
                ok(rank.wait(token));
            } else {
                let mut to = vec![0u8; expected];
                let token = rank.recv(&room(&mut to), 0, 3, &[]);
                assert_eq!(rank.wait(token), NORN_E_MISMATCH, "{sent} {expected}");
                let told = text(&rank.record(token).text);
                assert!(told.contains(&format!("receive of {expected} B")), "{told}");
            }
        }
    });
}

#[test]
fn a_size_that_differs_within_a_rank_is_an_error_too() {
    on_ranks(&config(), |rank| {
        for (sent, expected) in [(8usize, 16usize), (16, 8), (0, 8), (1, 0)] {
            let (from, mut to) = (vec![1u8; sent], vec![0u8; expected]);
            let out = rank.send(&slice(&from), rank.rank, 3, &[]);
            let token = rank.recv(&room(&mut to), rank.rank, 3, &[]);
            ok(rank.wait(out));
            assert_eq!(rank.wait(token), NORN_E_MISMATCH, "{sent} {expected}");
        }
    });
}

#[test]
fn a_datum_is_not_sent_to_itself() {
    use norn::abi::data::*;
    on_ranks(&config(), |rank| {
        let memory = [0i64; 2];
        // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
        let desc = norn_data_desc {
            struct_size: size_of::<norn_data_desc>(),
            ptr: memory.as_ptr().cast_mut().cast(),
            bytes: 16,
            ..unsafe { std::mem::zeroed() }
        };
        let mut datum = norn_data::default();
        // SAFETY: the pointers are of live variables; the memory outlives the datum.
        ok(unsafe { norn_data_register(rank.rt, &desc, &mut datum) });
        let part = norn_slice {
            data: datum,
            ptr: std::ptr::null_mut(),
            ..numbers(&memory)
        };
        let sent = rank.send(&part, rank.rank, 4, &[]);
        // SAFETY: the pointers are of live variables.
        let status = unsafe {
            norn::abi::world::norn_recv(
                rank.world,
                &part,
                rank.rank,
                4,
                std::ptr::null(),
                std::ptr::null_mut(),
            )
        };
        assert_eq!(status, NORN_E_INVALID);
        assert!(last_error().contains("same datum"), "{}", last_error());
        let mut other = [0i64; 2];
        ok(rank.wait(rank.recv(&room_of_numbers(&mut other), rank.rank, 4, &[])));
        ok(rank.wait(sent));
    });
}

#[test]
fn verify_mode_names_both_declarations() {
    verifying(&config(), |rank| {
        let mut memory = [0u8; 16];
        if rank.rank == 0 {
            ok(rank.wait(rank.send(&slice(&memory), 1, 3, &[])));
            ok(rank.wait(rank.send(&slice(&memory[..8]), 1, 4, &[])));
        } else {
            ok(rank.wait(rank.recv(&room(&mut memory), 0, 3, &[])));
            let token = rank.recv(&room(&mut memory), 0, 4, &[]);
            assert_eq!(rank.wait(token), NORN_E_MISMATCH);
            let told = text(&rank.record(token).text);
            assert!(
                told.contains("send of 8 B") && told.contains("receive of 16 B"),
                "{told}"
            );
        }
    });
}

#[test]
fn verify_mode_tells_types_of_the_same_length_apart() {
    let of_type = |memory: &[i64], datatype: norn_type| norn_slice {
        r#type: datatype,
        ..numbers(memory)
    };
    // MPI's own double is norn's, by its handle in sim.
    let of_mpi = NORN_OF_MPI | (100 + NORN_F64);
    verifying(&config(), |rank| {
        let mut memory = [1i64; 2];
        let pairs = [
            (NORN_F64, NORN_I64, false),
            (NORN_I64, NORN_U64, false),
            (of_mpi, NORN_I64, false),
            (of_mpi, NORN_F64, true),
            (NORN_BYTE, NORN_I64, true),
        ];
        for (sent, received, agree) in pairs {
            // Sixteen bytes of every one of them.
            let elements = if sent == NORN_BYTE { 16 } else { 2 };
            if rank.rank == 0 {
                let from = norn_slice {
                    count: elements,
                    ..of_type(&memory, sent)
                };
                ok(rank.wait(rank.send(&from, 1, 3, &[])));
                continue;
            }
            let to = Room::of_type(&mut memory, received);
            let token = rank.recv(&to, 0, 3, &[]);
            if agree {
                ok(rank.wait(token));
                continue;
            }
            assert_eq!(rank.wait(token), NORN_E_MISMATCH, "{sent} {received}");
            let told = text(&rank.record(token).text);
            let named = |number: norn_type| match number {
                NORN_I64 => "of NORN_I64",
                NORN_U64 => "of NORN_U64",
                _ => "of NORN_F64",
            };
            let number = 1 + pairs
                .iter()
                .position(|pair| pair.0 == sent && pair.1 == received)
                .unwrap();
            let which = format!("number {number} of the edges with key 3");
            for word in [named(sent), named(received), &which] {
                assert!(told.contains(word), "{told}");
            }
        }
    });
}

#[test]
fn bad_arguments_are_named() {
    on_ranks(&config(), |rank| {
        let memory = [0u8; 4];
        let good = slice(&memory);
        let refused = |slice: &norn_slice, peer, key, word: &str| {
            // SAFETY: the pointers are of live variables.
            let status = unsafe {
                norn::abi::world::norn_send(
                    rank.world,
                    slice,
                    peer,
                    key,
                    std::ptr::null(),
                    std::ptr::null_mut(),
                )
            };
            assert_eq!(status, NORN_E_INVALID);
            assert!(last_error().contains(word), "{}", last_error());
        };
        refused(&good, 2, 0, "peer is 2");
        refused(&good, -1, 0, "peer is -1");
        refused(&good, 1, 1 << 40, "key is");
        refused(&good, 1, -2, "key is -2");
        let bad = norn_slice { r#type: 99, ..good };
        refused(&bad, 1, 0, "type 99");
        let bad = norn_slice {
            r#type: NORN_OF_MPI + 5,
            ..good
        };
        refused(&bad, 1, 0, "no datatype of MPI");
        let bad = norn_slice {
            ptr: std::ptr::null_mut(),
            ..good
        };
        refused(&bad, 1, 0, "ptr is NULL");
        let bad = norn_slice {
            count: u64::MAX,
            blocks: 2,
            ..good
        };
        refused(&bad, 1, 0, "address space");
    });
}

#[test]
fn what_belongs_to_a_body_is_refused_in_how() {
    unsafe extern "C" fn run(_: *mut norn_self, _: *mut std::ffi::c_void) -> i32 {
        0
    }
    unsafe extern "C" fn enqueue(
        _: *mut norn_self,
        _: *mut std::ffi::c_void,
        _: *mut std::ffi::c_void,
    ) -> i32 {
        0
    }
    unsafe extern "C" fn drop_it(_: *mut std::ffi::c_void) {}
    on_ranks(&config(), |rank| {
        let memory = [0u8; 8];
        let some = memory.as_ptr().cast_mut().cast();
        let refused = |word: &str, set: &dyn Fn(&mut norn_task)| {
            let mut how = how();
            set(&mut how);
            let mut token = norn_token::default();
            // SAFETY: the pointers are of live variables.
            let send = unsafe {
                norn::abi::world::norn_send(rank.world, &slice(&memory), 0, 0, &how, &mut token)
            };
            assert_eq!(send, NORN_E_INVALID);
            assert!(last_error().contains(word), "{}", last_error());
            // SAFETY: as above.
            let barrier =
                unsafe { norn::abi::collective::norn_barrier(rank.world, &how, &mut token) };
            assert_eq!(barrier, NORN_E_INVALID);
            assert!(last_error().contains(word), "{}", last_error());
        };
        refused("run", &|how| how.run = Some(run));
        refused("enqueue", &|how| how.enqueue = Some(enqueue));
        refused("arg", &|how| how.arg = some);
        refused("drop", &|how| how.drop = Some(drop_it));
        refused("arg_bytes", &|how| how.arg_bytes = 8);
        refused("NORN_COPY_ARG", &|how| how.flags = NORN_COPY_ARG);
        refused("stream", &|how| how.stream = some);
    });
}

#[test]
fn a_message_of_a_piece_in_rows_stays_in_its_rows() {
    use norn::abi::data::*;
    use norn::abi::world::{norn_recv, norn_send};
    on_ranks(&config(), |rank| {
        let mut memory = vec![0i64; 8];
        let desc = norn_data_desc {
            struct_size: size_of::<norn_data_desc>(),
            ptr: memory.as_mut_ptr().cast(),
            bytes: 64,
            // SAFETY: integers, pointers and optional functions, for all of which zero is valid.
            ..unsafe { std::mem::zeroed() }
        };
        let piece = |offset| norn_piece {
            offset,
            bytes: 8,
            rows: 4,
            stride: 16,
        };
        let (mut whole, mut parts) = (norn_data::default(), [norn_data::default(); 2]);
        let pieces = [piece(0), piece(8)];
        // SAFETY: the pointers are of live variables, with room for two pieces.
        unsafe {
            ok(norn_data_register(rank.rt, &desc, &mut whole));
            ok(norn_data_split(
                rank.rt,
                whole,
                pieces.as_ptr(),
                2,
                parts.as_mut_ptr(),
            ));
        }
        let of_piece = |count, blocks, stride| norn_slice {
            data: parts[1],
            ptr: std::ptr::null_mut(),
            r#type: NORN_I64,
            count,
            blocks,
            stride,
            ..numbers(&[])
        };
        let (run, rows) = (of_piece(4, 0, 0), of_piece(1, 4, 2));
        let mut token = norn_token::default();
        let mine = [1 + i64::from(rank.rank), 2, 3, 4];
        let peer = 1 - rank.rank;
        // SAFETY: the pointers are of live variables; both messages end below.
        unsafe {
            assert_eq!(
                norn_send(rank.world, &run, peer, 5, std::ptr::null(), &mut token),
                NORN_E_INVALID
            );
            assert!(last_error().contains("leaves the rows"), "{}", last_error());
            assert_eq!(
                norn_recv(rank.world, &run, peer, 5, std::ptr::null(), &mut token),
                NORN_E_INVALID
            );
            ok(norn_recv(
                rank.world,
                &rows,
                peer,
                5,
                std::ptr::null(),
                &mut token,
            ));
        }
        let sent = rank.send(&numbers(&mine), peer, 5, &[]);
        ok(rank.wait(sent));
        ok(rank.wait(token));
        // SAFETY: always safe; waits for the accesses.
        unsafe {
            ok(norn_data_join(rank.rt, whole));
            ok(norn_data_unregister(rank.rt, whole));
        }
        // SAFETY: the vector lives, and norn has let go of it.
        let seen: Vec<i64> = (0..8)
            .map(|at| unsafe { memory.as_ptr().add(at).read_volatile() })
            .collect();
        assert_eq!(seen, [0, 1 + i64::from(peer), 0, 2, 0, 3, 0, 4]);
    });
}
